#!/bin/sh
# PID 1 of the guest. Makes a small Linux out of the archives, runs /command
# and reports to the host how it ended.
#
# Until the streams are open, whatever is said here goes to the kernel's
# console, which the host keeps as a log and shows when no report comes.

export PATH=/bin:/usr/bin HOME=/root USER=root TERM=xterm LC_ALL=C
# There is no udev: let libdevmapper make the nodes itself.
export DM_DISABLE_UDEV=1

mount_all() {
    mount -t proc proc /proc
    mount -t sysfs sysfs /sys
    mount -t devtmpfs dev /dev
    mkdir -p /dev/pts /dev/shm
    mount -t devpts devpts /dev/pts
    for dir in /dev/shm /run /tmp; do mount -t tmpfs tmpfs "$dir"; done
    mount -t debugfs debugfs /sys/kernel/debug
    mount -t tracefs tracefs /sys/kernel/tracing
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    mount -t bpf bpf /sys/fs/bpf
    ln -s /proc/self/fd /dev/fd
    ln -s /proc/self/fd/0 /dev/stdin
    ln -s /proc/self/fd/1 /dev/stdout
    ln -s /proc/self/fd/2 /dev/stderr
    mkdir -p /run/cryptsetup /run/mdadm
}

# What is built in, or is not there in this kernel, is no error. scsi_debug and
# null_blk are left to whoever wants them, with parameters of their own.
load_modules() {
    modprobe -q -a virtio_pci virtio_console configfs
    mount -t configfs configfs /sys/kernel/config
    # scsi_debug's disks need sd_mod, and nobody loads it for them.
    modprobe -q -a sd_mod virtio_blk nvme loop
    modprobe -q -a md-mod linear raid0 raid1 raid10 raid456 dm-mod dm-crypt
    modprobe -q zram num_devices=0
}

# The device of the host's channel of that name. Channels show up some time
# after their driver.
channel() {
    for _ in $(seq 100); do
        for port in /sys/class/virtio-ports/*; do
            if [ "$(cat "$port/name" 2>/dev/null)" = "$1" ]; then
                echo "/dev/${port##*/}"
                return
            fi
        done
        sleep 0.1
    done
    echo "init: no channel '$1' to the host" >/dev/console
    poweroff -f
}

# Kills whatever the command left running, or it would hold the streams open.
# Kernel threads have no executable.
kill_the_rest() {
    for process in /proc/[0-9]*; do
        pid=${process#/proc/}
        case " 1 $* " in *" $pid "*) continue ;; esac
        readlink "$process/exe" >/dev/null && kill -9 "$pid" 2>/dev/null
    done
}

# The command gets pipes, because a channel can be opened only once and so
# would make `>/dev/stderr` fail.
run_with_streams() {
    mkfifo /run/stdout /run/stderr
    cat /run/stdout >"$stdout" &
    out=$!
    cat /run/stderr >"$stderr" &
    err=$!
    (cd /root && exec setsid --wait /bin/sh /command </dev/null >/run/stdout 2>/run/stderr 3>&-)
    code=$?
    kill_the_rest "$out" "$err"
    wait "$out" "$err"
}

run_with_terminal() {
    # Held open: with its last user a terminal forgets its size.
    exec 4<>/dev/hvc0
    read -r rows columns </terminal
    stty rows "${rows:-24}" cols "${columns:-80}" <&4
    (cd /root && exec setsid --ctty --wait /bin/sh /command <&4 >&4 2>&1 3>&- 4>&-)
    code=$?
}

/bin/busybox --install -s /bin 2>/dev/null
mount_all
load_modules
hostname guest
ifconfig lo up

exec 3>"$(channel status)"
if [ -e /terminal ]; then
    echo "ready $(cut -d ' ' -f 1 /proc/uptime)" >&3
    run_with_terminal
else
    stdout=$(channel stdout)
    stderr=$(channel stderr)
    echo "ready $(cut -d ' ' -f 1 /proc/uptime)" >&3
    run_with_streams
fi
echo "exit $code" >&3
poweroff -f
