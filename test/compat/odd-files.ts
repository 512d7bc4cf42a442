/** Makes files with modes, owners, links, holes, times and names that a program may stumble over; for busybox' shell. */
export const makeOddFiles = String.raw`
set -e
mkdir -p deep/er/still odd hollow
(umask 077; mkdir closed; echo secret > closed/file)
echo one > one; ln one hard
ln -s ../one deep/link; ln -s /nowhere/at/all dangling; ln -s odd folder; chown -h 7:8 deep/link
echo two > deep/er/two; chown 4294967294:65534 deep/er/two; chown 1000:2000 deep
: > empty; mkfifo pipe; chmod 1777 hollow
echo s > setuid; chown 12:34 setuid; chmod 4755 setuid
echo g > setgid; chmod 2640 setgid
echo r > unreadable; chmod 0 unreadable
for name in 'ein Name mit Umläuten ü' -dash 日本語 "quote'\"" 'back\slash' '%41' '$(x)' .hidden '*' ' '; do
  echo "$name" > "odd/$name"
done
echo tab > "odd/$(printf 'tab\there')"
echo line > "odd/$(printf 'new\nline')"
dd if=/dev/urandom of=random bs=1M count=8 2>/dev/null
dd if=/dev/zero of=hole bs=1 count=1 seek=33554432 2>/dev/null
touch -d '2001-02-03 04:05:06' one deep/er; touch -d '1969-12-31 23:00:00' empty
chmod 750 .
`

/** Tells every file's name, kind, mode, owner, time, target, size and content. Pipes are not there: no backup takes them. */
export const tellTree = `
set -e
find . ! -type p ! -path './.velero*' -print0 | sort -z | xargs -0 sh -c '
for f; do
  stat -c "%n %F %a %u:%g %y" "$f"
  if [ -L "$f" ]; then readlink "$f"; elif [ -f "$f" ]; then stat -c %s "$f"; sha256sum < "$f"; fi
done' _
`
