// Aligned memory, and a store of it for reuse: fresh pages would cost a block of work as much as its arithmetic.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace mlcli {

// Numbers on a boundary of 64 bytes, uninitialized.
template <class T> class Buffer {
public:
    explicit Buffer(std::int64_t size)
        : numbers_(static_cast<T *>(::operator new[](static_cast<std::size_t>(size) * sizeof(T), std::align_val_t(64)))) {}
    T *get() const { return numbers_.get(); }

private:
    struct Free {
        void operator()(T *p) const { ::operator delete[](p, std::align_val_t(64)); }
    };
    std::unique_ptr<T[], Free> numbers_;
};

// Buffers of one size, each lent to one thread at a time and kept as long as the pool.
template <class T> class Pool {
public:
    class Loan {
    public:
        Loan(Pool &pool, std::int64_t size) : pool_(pool), buffer_(pool.take(size)) {}
        ~Loan() {
            const std::lock_guard<std::mutex> lock(pool_.mutex_);
            pool_.idle_.push_back(std::move(buffer_));
        }
        Loan(const Loan &) = delete;
        T *get() const { return buffer_.get(); }

    private:
        Pool &pool_;
        Buffer<T> buffer_;
    };

private:
    std::mutex mutex_;
    std::vector<Buffer<T>> idle_;

    Buffer<T> take(std::int64_t size) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (idle_.empty()) {
            idle_.reserve(++made_);  // so that giving back never allocates
            return Buffer<T>(size);
        }
        Buffer<T> buffer = std::move(idle_.back());
        idle_.pop_back();
        return buffer;
    }
    std::size_t made_ = 0;
};

}  // namespace mlcli
