import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, describe, it } from 'node:test'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { bothPrograms } from './both-programs.ts'

const given = await givenCluster({})
const both = await bothPrograms(given)
const namespace = `cli-exit-codes-${randomBytes(3).toString('hex')}`

/** Command lines that somebody gets wrong, or might. */
const lines: readonly string[][] = [
  [],
  ['--help'],
  ['nonsense'],
  ['--nonsense'],
  ['backup'],
  ['backup', 'nonsense'],
  ['backup', 'get', '--nope'],
  ['backup', 'get', '-o', 'nope'],
  ['backup', 'get', 'missing'],
  ['backup', 'get', '-l', 'a in ('],
  ['backup', 'describe', 'missing'],
  ['backup', 'logs'],
  ['backup', 'logs', 'missing'],
  ['backup', 'delete'],
  ['backup', 'delete', 'x', '--all'],
  ['backup', 'delete', 'missing', '--confirm'],
  ['backup', 'create'],
  ['backup', 'create', 'UPPER'],
  ['backup', 'create', 'x', '--ttl', 'nope'],
  ['backup', 'create', 'x', '--storage-location', 'missing'],
  ['backup', 'create', 'x', '-l', 'a=b', '--or-selector', 'c=d'],
  ['backup', 'create', 'x', '--snapshot-volumes=maybe'],
  ['backup', 'create', '--from-schedule', 'missing'],
  ['restore', 'create'],
  ['restore', 'create', '--from-backup', 'missing'],
  ['restore', 'create', '--from-backup', 'a', '--from-schedule', 'b'],
  ['restore', 'get', 'missing'],
  ['restore', 'delete', 'missing', '--confirm'],
  ['schedule', 'create', 'x'],
  ['schedule', 'get', 'missing'],
  ['schedule', 'pause', 'missing'],
  ['schedule', 'delete', 'missing', '--confirm'],
  ['backup-location', 'create', 'x'],
  ['backup-location', 'create', 'x', '--provider', 'aws', '--bucket', 'b', '--access-mode', 'Nope'],
  ['backup-location', 'get', 'missing'],
  ['backup-location', 'set', 'missing', '--default'],
  ['backup-location', 'delete', 'missing', '--confirm'],
  ['snapshot-location', 'create', 'x'],
  ['repo', 'get', 'missing'],
  ['plugin', 'add', 'a/b', '--confirm'],
  ['plugin', 'add', 'a/b', '--confirm', '--image-pull-policy', 'Sometimes'],
  ['plugin', 'remove', 'x'],
  ['plugin', 'get', '--timeout', '1s'],
  ['version', '--timeout', '1s'],
  ['completion', 'tcsh'],
  ['client', 'config', 'get', 'missing'],
  ['client', 'config', 'set', 'novalue'],
  ['--kubeconfig', '/no/such/file', 'backup', 'get'],
  ['--kubecontext', 'nope', 'backup', 'get'],
  ['debug', '--backup', 'missing'],
  ['-v', '4', '--logtostderr=false', 'backup', 'get'],
  ['--colorized', 'false', 'backup', 'get'],
  ['install', '--provider', 'aws'],
]

/** Where ours differs, and why. */
const differences: Readonly<Record<string, string>> = {
  'backup nonsense': 'velero shows help; a script must notice that nothing was done',
  'backup delete missing --confirm': 'velero says that it does not exist and succeeds; scripts must notice',
  'schedule pause missing': 'likewise',
  'schedule delete missing --confirm': 'likewise',
  'backup-location delete missing --confirm': 'likewise',
}

describe('exit codes of lateen and velero', { skip: both.skip, concurrency: 2 }, () => {
  before(async () => {
    await both.run('lateen', ['install', '--crds-only'])
    await given.cluster.kubectl(['create', 'namespace', namespace])
  })

  for (const line of lines) {
    it(`are the same for ${JSON.stringify(line.join(' '))}`, async () => {
      const [ours, theirs] = await Promise.all(
        (['lateen', 'velero'] as const).map(program =>
          both.end(program, line, { VELERO_NAMESPACE: namespace }),
        ),
      )
      const differs = line.join(' ') in differences
      const said = `ours: ${ours?.stderr}; theirs: ${theirs?.stderr}`
      assert.equal(ours?.status !== theirs?.status, differs, said)
      assert.doesNotMatch(ours?.stderr ?? '', /\n {4}at /)
    })
  }
})
