import path from 'node:path'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { busyboxImageName } from '../../tools/image/busybox-image.ts'

/** A line typed at a terminal, behind the program's name, and what the answer must hold. */
export interface Line {
  readonly words: readonly string[]
  readonly says: RegExp
}

/** Where a session takes place. */
export interface Place {
  /** Where the server is. */
  readonly namespace: string
  /** The namespace that is backed up. */
  readonly data: string
  /** A folder of this machine for downloads. */
  readonly folder: string
  readonly s3: Cluster['s3']
}

const line = (says: RegExp, ...words: string[]): Line => ({ words, says })

/** The first half: everything that makes something or asks about the program itself. */
export function makingLines({ namespace, data, folder, s3 }: Place): Line[] {
  const config = `--config=s3Url=${s3.endpoint},region=${s3.region},s3ForcePathStyle=true`
  const location = ['--provider=aws', `--bucket=${s3.bucket}`, '--credential=cloud-credentials=cloud', config]
  const only = `--include-namespaces=${data}`
  const into = (name: string) => ['--namespace-mappings', `${data}:${namespace}-${name}`]
  const restored = /completed with status: Completed\./
  return [
    line(/Client:\n\tVersion: v.+\n[\s\S]*Server:\n\tVersion: v/, 'version', '--timeout=60s'),
    line(/^$/, 'client', 'config', 'set', 'colorized=false'),
    line(/colorized: false/, 'client', 'config', 'get'),
    line(/complete/, 'completion', 'bash'),
    line(/compdef/, 'completion', 'zsh'),
    line(/complete/, 'completion', 'fish'),
    line(/"more" configured/, 'backup-location', 'create', 'more', `--prefix=${namespace}-more`, ...location),
    line(/configured/, 'create', 'backup-location', 'extra', `--prefix=${namespace}-extra`, ...location),
    line(/"more" configured/, 'backup-location', 'set', 'more', '--default=false'),
    line(
      /configured/,
      'snapshot-location',
      'create',
      'snaps',
      '--provider=example.com/snaps',
      '--config=region=r',
    ),
    line(
      /configured/,
      'create',
      'snapshot-location',
      'discs',
      '--provider=example.com/discs',
      '--labels=a=b',
    ),
    line(/configured/, 'snapshot-location', 'set', 'snaps', '--credential=cloud-credentials=cloud'),
    line(restored, 'backup', 'create', 'one', only, '--labels=a=b', '--ttl=2h', '--wait'),
    line(restored, 'create', 'backup', 'two', only, '--selector=app=none', '--snapshot-volumes=false', '-w'),
    line(/created/, 'schedule', 'create', 'daily', '--schedule=0 4 29 2 *', only, '--labels=c=d'),
    line(/created/, 'create', 'schedule', 'often', '--schedule=@every 90h', '--paused', only),
    line(/paused/, 'schedule', 'pause', 'daily'),
    line(/unpaused/, 'schedule', 'unpause', 'daily'),
    line(restored, 'backup', 'create', '--from-schedule=daily', '--wait'),
    line(restored, 'restore', 'create', 'first', '--from-backup=one', ...into('first'), '--wait'),
    line(restored, 'create', 'restore', 'second', '--from-schedule=daily', ...into('second'), '--wait'),
    line(/backup=|level=/, 'backup', 'logs', 'one'),
    line(/level=/, 'restore', 'logs', 'first'),
    line(/downloaded|saved/i, 'backup', 'download', 'one', '-o', path.join(folder, `${namespace}.tar.gz`)),
    line(/^/, 'debug', '--output', debugBundle(folder, namespace), '--backup=one', '--restore=first'),
    line(/^/, 'bug'),
    line(/^/, 'plugin', 'add', busyboxImageName, '--confirm'),
  ]
}

/** Where a session leaves its debug bundle. */
export function debugBundle(folder: string, namespace: string): string {
  return path.join(folder, `${namespace}-debug.tar.gz`)
}

/** What both programs must show alike, of all that there is. */
export const showingLines: readonly (readonly string[])[] = [
  ['backup', 'get'],
  ['backup', 'get', '-l', 'a=b', '--show-labels', '-L', 'a'],
  ['get', 'backups', 'two', 'one'],
  ['backup', 'describe'],
  ['backup', 'describe', '--details'],
  ['describe', 'backups', 'one'],
  ['describe', 'backups', 'one', '-o', 'json'],
  ['describe', 'backups', 'two', '--details', '-o', 'json'],
  ['restore', 'get'],
  ['get', 'restores'],
  ['restore', 'describe'],
  ['describe', 'restores', '--details'],
  ['schedule', 'get'],
  ['get', 'schedules', '--show-labels'],
  ['schedule', 'describe'],
  ['describe', 'schedules', 'daily'],
  ['backup-location', 'get'],
  ['get', 'backup-locations'],
  ['snapshot-location', 'get'],
  ['get', 'snapshot-locations', '--show-labels'],
  ['repo', 'get'],
  ['plugin', 'get', '--timeout=60s'],
  ['get', 'plugins', '--timeout=60s'],
]

/** What both programs must print as the same objects. */
export const objectLines: readonly (readonly string[])[] = [
  ['backup', 'get'],
  ['restore', 'get'],
  ['schedule', 'get'],
  ['backup-location', 'get'],
  ['snapshot-location', 'get'],
  ['repo', 'get'],
]

/** The second half: everything that removes something. */
export const removingLines: readonly Line[] = [
  line(/^/, 'plugin', 'remove', busyboxImageName),
  line(/delete/, 'restore', 'delete', 'first', '--confirm'),
  line(/delete/, 'delete', 'restore', 'second', '--confirm'),
  line(/submitted successfully/, 'backup', 'delete', 'one', '--confirm'),
  line(/submitted successfully/, 'delete', 'backup', 'two', '--confirm'),
  line(/deleted/, 'schedule', 'delete', 'daily', '--confirm'),
  line(/deleted/, 'delete', 'schedule', 'often', '--confirm'),
  line(/deleted/, 'backup-location', 'delete', 'more', '--confirm'),
  line(/deleted/, 'delete', 'backup-location', 'extra', '--confirm'),
]
