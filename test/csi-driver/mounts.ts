import { readFile } from 'node:fs/promises'
import { runCommand } from '../../tools/binaries/run-command.ts'

/** A line of mountinfo. */
export interface Mount {
  /** What of its file system is mounted. */
  readonly root: string
  readonly point: string
  readonly readOnly: boolean
}

/** The mounts that this process sees, the later ones last. */
export async function listMounts(): Promise<Mount[]> {
  return parseMounts(await readFile('/proc/self/mountinfo', 'utf8'))
}

/** Reads the text of mountinfo. */
export function parseMounts(text: string): Mount[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map(line => {
      const [, , , root = '', point = '', options = ''] = line.split(' ')
      return { root: unescaped(root), point: unescaped(point), readOnly: options.split(',').includes('ro') }
    })
}

/** The kernel writes blanks, tabs, line ends and backslashes as three octal digits. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  )
}

/** The mount on a path that is on top. */
export async function mountAt(point: string): Promise<Mount | undefined> {
  return (await listMounts()).findLast(mount => mount.point === point)
}

/** Shows a file or folder at another path. */
export async function bindMount(from: string, to: string, { readOnly }: { readOnly: boolean }) {
  await runCommand('mount', ['--bind', from, to])
  if (readOnly) await runCommand('mount', ['-o', 'remount,bind,ro', to])
}

/** Takes every mount off a path. */
export async function unmountAll(point: string): Promise<void> {
  while (await mountAt(point)) await runCommand('umount', [point])
}
