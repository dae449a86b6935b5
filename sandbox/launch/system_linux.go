//go:build amd64 || arm64

package launch

// systemRead lists what every command may read: the system's programs and libraries, and
// what programs need of /etc and /proc to run at all. The rest of /etc holds keys, password
// hashes and other people's settings.
func systemRead() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
		"/nix/store", "/gnu/store", "/run/current-system/sw",

		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path",
		"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime", "/etc/timezone", "/etc/locale.alias",
		"/etc/locale.conf", "/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/mime.types", "/etc/magic",
		"/etc/magic.mime", "/etc/protocols", "/etc/services", "/etc/terminfo", "/etc/alternatives",
		"/etc/gitconfig", "/etc/gitattributes", "/etc/perl",
		"/etc/host.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/gai.conf",
		"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/tls/openssl.cnf",
		"/etc/pki/ca-trust", "/etc/crypto-policies",

		// A process's own folder; those of others hold their secrets.
		"/proc/self",
		"/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version", "/proc/filesystems",
		"/proc/sys/kernel/ngroups_max", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/ostype", "/proc/sys/kernel/pid_max",
		"/proc/sys/kernel/cap_last_cap", "/proc/sys/kernel/random", "/proc/sys/vm/overcommit_memory", "/proc/sys/fs/pipe-max-size",
		"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage",
	}
}

// systemDevices lists the devices that hold no data of anybody.
func systemDevices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
}
