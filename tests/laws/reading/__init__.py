"""What is read from every odd and hostile file of the tests, held while the reading is rebuilt."""
