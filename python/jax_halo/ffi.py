# SPDX-License-Identifier: Apache-2.0
"""Foreign functions: handlers that were registered with jax.ffi for this platform, or for the CPU, whose memory they get."""
import ctypes
import functools
import os

_ALREADY_EXISTS = 6
_CUSTOM_CALL, _FFI = 0, 5  # extensions of the interface
_STAGES = ("instantiate", "prepare", "initialize", "execute")


class _Extension(ctypes.Structure):
    pass


_Extension._fields_ = [
    ("struct_size", ctypes.c_size_t),
    ("type", ctypes.c_int),
    ("next", ctypes.POINTER(_Extension)),
    ("functions", ctypes.c_void_p * 3),
]


class _Api(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.POINTER(_Extension)),
        ("version", ctypes.c_char * 24),
        ("error_destroy", ctypes.c_void_p),
        ("error_message", ctypes.c_void_p),
        ("error_get_code", ctypes.c_void_p),
    ]


class _ErrorArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("error", ctypes.c_void_p),
        ("text", ctypes.c_void_p),  # the code, when that is asked for
        ("text_size", ctypes.c_size_t),
    ]


class _HandlerArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("name_size", ctypes.c_size_t),
        ("handler", ctypes.c_void_p),
        ("platform", ctypes.c_char_p),
        ("platform_size", ctypes.c_size_t),
        ("traits", ctypes.c_int),
    ]


class _CallArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("name_size", ctypes.c_size_t),
        ("api_version", ctypes.c_int),
        ("handlers", ctypes.c_void_p * 4),
    ]


class _TypeArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("name_size", ctypes.c_size_t),
        ("type_id", ctypes.c_int64),
        ("type_info", ctypes.c_void_p),
    ]


def _call(address, arguments):
    """Calls a function of the interface; the error, or None."""
    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address)(ctypes.addressof(arguments))


def _pointer(capsule):
    """What a capsule holds; None for no capsule."""
    if capsule is None:
        return None
    get_name, get = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, get_name(capsule))


class _Plugin:
    """The functions of the library that register handlers."""

    def __init__(self, path):
        library = ctypes.CDLL(path)
        library.GetPjrtApi.restype = ctypes.POINTER(_Api)
        self._api = library.GetPjrtApi().contents
        self._extensions = {}
        at = self._api.extension_start
        while at:
            self._extensions[at.contents.type] = at.contents.functions
            at = at.contents.next

    def _check(self, error, accepted=None):
        """Raises an error, but for one of the accepted code; whether there was none."""
        if not error:
            return True
        arguments = _ErrorArgs(ctypes.sizeof(_ErrorArgs), None, error)
        _call(self._api.error_get_code, arguments)
        code = (arguments.text or 0) & 0xFFFFFFFF
        _call(self._api.error_message, arguments)
        message = ctypes.string_at(arguments.text, arguments.text_size).decode()
        _call(self._api.error_destroy, arguments)
        if code != accepted:
            raise ValueError(message)
        return False

    def register_call(self, name, handlers, api_version=1, accepted=None):
        """Handlers for this platform; False after an error of the accepted code."""
        arguments = _CallArgs(ctypes.sizeof(_CallArgs), name, len(name), api_version,
                              (ctypes.c_void_p * 4)(*handlers))
        return self._check(_call(self._extensions[_CUSTOM_CALL][0], arguments), accepted)

    def register_of_host(self, name, handler):
        """A handler for CPUs; False if the platform has a function of that name itself."""
        arguments = _HandlerArgs(ctypes.sizeof(_HandlerArgs), name, len(name), handler, b"cpu", 3)
        return self._check(_call(self._extensions[_FFI][2], arguments), accepted=_ALREADY_EXISTS)

    def register_type(self, name, identifier, info):
        number = ctypes.c_int64.from_address(identifier)
        # Behind its size and its own extensions, the function that frees objects.
        deleter = ctypes.c_void_p(info + 16) if info else None
        arguments = _TypeArgs(ctypes.sizeof(_TypeArgs), None, name, len(name), number.value, deleter)
        self._check(_call(self._extensions[_FFI][0], arguments))
        number.value = arguments.type_id


def _handlers(function):
    stages = function if isinstance(function, dict) else {"execute": function}
    return [_pointer(stages.get(stage)) for stage in _STAGES]


def _path(platform):
    import jax_halo

    for entry in os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "").split(","):
        name, _, path = entry.partition(":")
        if name.lower() == platform:
            return path
    return jax_halo.library_path()


def _wrap(module, name, after):
    """Has `after` called with the arguments of each call of a module's function, once that is done."""
    original = getattr(module, name)

    @functools.wraps(original)
    def wrapper(*args, **kwargs):
        original(*args, **kwargs)
        after(*args, **kwargs)

    setattr(module, name, wrapper)


def _install_calls(platform, plugin):
    from jaxlib import xla_client

    own = set()

    def register(name, function, _platform, api_version=1, _traits=0):
        plugin.register_call(name.encode(), _handlers(function), api_version)
        own.add(name)

    def register_of_host(name, fn, platform="cpu", api_version=0, **_):
        handlers = _handlers(fn)
        if platform != "cpu" or name in own:
            return
        if api_version == 0:
            plugin.register_call(name.encode(), handlers, 0, accepted=_ALREADY_EXISTS)
        elif plugin.register_of_host(name.encode(), handlers[-1]) and any(handlers[:-1]):
            plugin.register_call(name.encode(), handlers)

    host = xla_client.xla_platform_names.get("cpu", "cpu")
    for name, function in xla_client.custom_call_targets(host).items():
        if isinstance(function, dict):
            register_of_host(name, function, api_version=1)
    # Those that wait for a client of the CPU.
    for name, function, api_version, *_ in xla_client._custom_callback.get(host, ()):
        register_of_host(name, function, api_version=api_version)
    xla_client.register_custom_call_handler(platform, register)
    _wrap(xla_client, "register_custom_call_target", register_of_host)


def _install_types(platform, plugin):
    from jaxlib import xla_client

    def register(name, registration, *_):
        plugin.register_type(name.encode(), _pointer(registration["type_id"]),
                             _pointer(registration.get("type_info")))

    def register_of_host(type_name, type_id, platform="cpu"):
        if platform == "cpu":
            register(type_name, type_id)

    host = xla_client.xla_platform_names.get("cpu", "cpu")
    for name, registration in xla_client._custom_type_id.get(host, ()):
        register(name, registration)
    xla_client.register_custom_type_handler(platform, register)
    _wrap(xla_client, "register_custom_type", register_of_host)


def install(platform):
    plugin = _Plugin(_path(platform))
    _install_types(platform, plugin)
    _install_calls(platform, plugin)
