# Creates a server, runs it until stdin closes, then stops it and removes its directory.
#
# Usage: sh guardian.sh DIRECTORY PROGRAMS ROLE [SERVER ARGS]
#
# The other end of stdin is held by xtask alone, so this also cleans up after a Ctrl-C or a kill.
trap '' INT TERM HUP
directory=$1
programs=$2
role=$3
shift 3
exec 3<&0 </dev/null >"$directory/log" 2>&1

initialise() {
    "$programs/initdb" -D "$directory/data" -U "$role" -A trust -E UTF8 --no-sync --locale "$1" 3<&-
}

# Not every system has C.UTF-8; initdb removes what it wrote when it fails.
if initialise C.UTF-8 || initialise C; then
    "$programs/postgres" -D "$directory/data" "$@" 3<&- &
    server=$!
    (
        cat <&3
        # Nothing in the directory outlives the server, so it need not write a last checkpoint.
        # Repeated, because a server that has only just started may not listen to signals yet.
        until test -e "$directory/exited"; do
            kill -QUIT "$server"
            sleep 0.1
        done
    ) &
    wait "$server"
fi

: >"$directory/exited"
cat <&3
wait
rm -rf "$directory"
