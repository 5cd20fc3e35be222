// The thread that receives the signals which stop the program, and ends the process where the program does not.
// It never takes the interpreter's lock, which LAPACK can hold for minutes. Nothing of it is numerical, so that it
// is a module of its own: it must run before NumPy loads, and NumPy is what the kernels' front ends import.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t STACK = 512 * 1024;  // bytes of each thread; the usual size counts against limits of memory

struct Entry {
    fs::path path;
    ino_t inode;  // that it must have to be removed; 0 where any will do
};

struct Watch {
    sigset_t signals;
    std::map<int, std::string> words;  // what to say of each signal
    std::chrono::duration<double> grace;
    pthread_t main;
    int nudge;
    std::atomic<int> received{0};
    std::atomic<bool> told{false};
    std::mutex guard;  // of what is unfinished
    std::vector<Entry> unfinished;
};

Watch &watch = *new Watch;  // never destroyed, since the threads may outlive everything else

bool is(const fs::path &path, ino_t inode) {
    struct stat facts;
    return inode == 0 || (lstat(path.c_str(), &facts) == 0 && facts.st_ino == inode);
}

// As in mlcli/base/unfinished.py: the name is taken away first, so that the program cannot publish it half removed.
void take_away(const Entry &entry) {
    std::error_code error;
    const fs::path aside = entry.path.parent_path() / (".stopped" + entry.path.filename().string());
    fs::rename(entry.path, aside, error);
    if (error) return;  // published, or gone
    if (is(aside, entry.inode)) fs::remove_all(aside, error);
    else fs::rename(aside, entry.path, error);  // what the program has just put in its place
}

[[noreturn]] void end() {
    const std::lock_guard<std::mutex> held(watch.guard);
    for (const Entry &entry : watch.unfinished) take_away(entry);
    if (!watch.told) {
        const std::string &words = watch.words[watch.received];
        if (write(STDERR_FILENO, words.data(), words.size()) < 0) {}  // nobody is left to be told of it
    }
    _exit(128 + watch.received);
}

void *wait_for_the_end(void *) {
    std::this_thread::sleep_for(watch.grace);
    end();
}

bool begin(void *(*work)(void *)) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    const bool begun = pthread_create(&thread, &attributes, work, nullptr) == 0;
    pthread_attr_destroy(&attributes);
    return begun;
}

void *receive(void *) {
    int number = 0;
    sigwait(&watch.signals, &number);
    watch.received = number;
    pthread_kill(watch.main, watch.nudge);
    if (!begin(wait_for_the_end)) wait_for_the_end(nullptr);
    sigwait(&watch.signals, &number);
    end();
}

PyObject *start(PyObject *, PyObject *arguments) {
    PyObject *words = nullptr;
    double grace = 0;
    if (!PyArg_ParseTuple(arguments, "Odi", &words, &grace, &watch.nudge)) return nullptr;
    sigemptyset(&watch.signals);
    PyObject *number = nullptr, *text = nullptr;
    for (Py_ssize_t place = 0; PyDict_Next(words, &place, &number, &text);) {
        const long value = PyLong_AsLong(number);
        char *bytes = nullptr;
        Py_ssize_t size = 0;
        if (PyErr_Occurred() || PyBytes_AsStringAndSize(text, &bytes, &size) < 0) return nullptr;
        watch.words[static_cast<int>(value)] = std::string(bytes, static_cast<std::size_t>(size));
        sigaddset(&watch.signals, static_cast<int>(value));
    }
    watch.grace = std::chrono::duration<double>(grace);
    watch.main = pthread_self();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // which the new thread inherits
    const bool begun = begin(receive);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!begun) return PyErr_Format(PyExc_RuntimeError, "can't start new thread");
    Py_RETURN_NONE;
}

PyObject *guard(PyObject *, PyObject *entries) {
    std::vector<Entry> unfinished;
    for (Py_ssize_t i = 0; i < PyList_Size(entries); ++i) {
        const char *path = nullptr;
        unsigned long long inode = 0;
        if (!PyArg_ParseTuple(PyList_GetItem(entries, i), "yK", &path, &inode)) return nullptr;
        unfinished.push_back({path, static_cast<ino_t>(inode)});
    }
    const std::lock_guard<std::mutex> held(watch.guard);
    watch.unfinished.swap(unfinished);
    Py_RETURN_NONE;
}

PyObject *received(PyObject *, PyObject *) { return PyLong_FromLong(watch.received); }

PyObject *told(PyObject *, PyObject *) {
    watch.told = true;
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"start", start, METH_VARARGS, "start(words, grace, nudge): waits for the signals that words are given for."},
    {"guard", guard, METH_O, "guard(entries): what to remove at the end, as a list of paths and inodes."},
    {"received", received, METH_NOARGS, "received(): the first signal's number, or 0."},
    {"told", told, METH_NOARGS, "told(): the program has said itself what stopped it."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, "_watchdog", nullptr, -1, functions,
                                 nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__watchdog() { return PyModule_Create(&module_definition); }
