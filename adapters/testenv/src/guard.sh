# Ends the servers of a test environment, and deletes its folder, when the process that owns them is gone.
#
# Arguments: the folder, and the process group of the servers.
# Input: a pipe from the owner. Its end is the end of the owner, however that came; "keep" before it keeps the folder.
trap '' HUP INT TERM
PATH=${PATH:-}:/bin:/usr/bin
folder=$1
group=$2
keep=no

umask 077
mkdir -- "$folder" || exit 1
echo ready

while IFS= read -r word; do
    if [ "$word" = keep ]; then keep=yes; fi
done

# Nothing in the servers is worth a gentle end, so they get none. Again and again, because a dying process may still
# write, and with an end (after five minutes), because a process that nobody has waited for still counts as one of the group.
tries=0
while [ "$tries" -lt 3000 ]; do
    alive=yes
    kill -s KILL -- "-$group" 2>/dev/null || alive=no
    if [ "$keep" = no ]; then rm -rf -- "$folder"; fi
    if [ "$alive" = no ]; then
        if [ "$keep" = yes ] || [ ! -e "$folder" ]; then exit 0; fi
    fi
    sleep 0.1
    tries=$((tries + 1))
done
