# In a fresh Debian under systemd: installs the package, asks the agent, removes
# the package. Each line must hold.
set -eux

files() {
    find / -xdev ! -path '/var/log/*' ! -path '/var/lib/dpkg/*-old' ! -path /log | sort
}

ask() {
    exec 3<>/dev/tcp/127.0.0.1/19127
    printf 'GET %s HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n' "$1" >&3
    cat <&3
    exec 3>&-
}

files >/run/before
dpkg --install /iotrace.deb
systemctl is-active iotrace.socket iotrace.service
systemctl is-enabled iotrace.socket iotrace.service

ask /-/ready | grep 'HTTP/1.1 200'
ask / | grep page/page.js
ask /metrics >/run/metrics
grep '^iotrace_scrape_success 1' /run/metrics
grep '^iotrace_lost_events_total' /run/metrics
# md's functions were found: reasons are measured.
grep '^iotrace_array_preread_bytes_total{device="md0"' /run/metrics

# A user of its own, of those that systemd makes up.
pid=$(systemctl show --property=MainPID --value iotrace)
user=$(stat --format=%u "/proc/$pid")
test "$user" -ge 61184
test "$user" -le 65519

# CAP_SYSLOG 34, CAP_PERFMON 38 and CAP_BPF 39, in one thread.
most=000000c400000000
holding=
for thread in "/proc/$pid/task/"*; do
    grep -q "NoNewPrivs:.1" "$thread/status"
    grep -q "Seccomp:.2" "$thread/status"
    grep -qE "CapBnd:.($most|0000000000000000)" "$thread/status"
    if ! grep -qE "CapPrm:.0000000000000000" "$thread/status"; then
        grep -q "CapPrm:.$most" "$thread/status"
        holding="$holding$(cat "$thread/comm")"
    fi
done
test "$holding" = counting

# Where a volume begins on the array is in device-mapper's tables, which the
# unit may not read; with what docs/install.md adds it may.
test -z "$(grep 'phase_bytes{device="dm-0"}' /run/metrics)"
mkdir /etc/systemd/system/iotrace.service.d
sed -n '/AmbientCapabilities=CAP_SYS_ADMIN/,/^$/p' /usr/share/doc/iotrace/docs/install.md |
    sed '1i [Service]' >/etc/systemd/system/iotrace.service.d/tables.conf
cat /etc/systemd/system/iotrace.service.d/tables.conf
systemctl daemon-reload
systemctl restart iotrace.service
ask /metrics | grep '^iotrace_device_phase_bytes{device="dm-0"} 32768'
rm -r /etc/systemd/system/iotrace.service.d
systemctl daemon-reload

# The socket stays, and whoever asks starts the service again.
systemctl stop iotrace.service
ask /-/healthy | grep 'HTTP/1.1 200'
systemctl is-active iotrace.service

dpkg --purge iotrace
test "$(systemctl is-active iotrace.socket iotrace.service)" = "$(printf 'inactive\ninactive')"
files >/run/after
diff /run/before /run/after
