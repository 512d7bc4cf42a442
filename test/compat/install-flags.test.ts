import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { parseCommandLine } from '../../packages/cli/src/parse/command-line.ts'
import { readFlagValues } from '../../packages/cli/src/parse/flag-values.ts'
import { globalFlags } from '../../packages/cli/src/tree/global-flags.ts'
import { installFlags } from '../../packages/cli/src/tree/install.ts'
import { commandTree } from '../../packages/cli/src/tree/root.ts'
import { serverFlags } from '../../packages/cli/src/tree/server.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'

const given = await givenCluster()
const namespace = `install-flags-${process.pid}`
const run = promisify(execFile)

/** Those whose arguments Velero 1.18's own server refuses. */
const crashing = [
  '--keep-latest-maintenance-jobs=3',
  '--maintenance-job-cpu-limit=1',
  '--maintenance-job-cpu-request=1',
  '--maintenance-job-mem-limit=1Gi',
  '--maintenance-job-mem-request=1Gi',
]

/** Every flag of `velero install` that ends up in arguments of a container. */
const passedOn = [
  '--use-node-agent',
  '--use-node-agent-windows',
  '--restore-only',
  '--default-repo-maintain-frequency=2h',
  '--garbage-collection-frequency=90m',
  '--pod-volume-operation-timeout=5h',
  '--features=EnableCSI,EnableAPIGroupVersions',
  '--default-volumes-to-fs-backup',
  '--uploader-type=kopia',
  '--default-snapshot-move-data',
  '--disable-informer-cache',
  '--schedule-skip-immediately',
  '--backup-repository-configmap=settings',
  '--repo-maintenance-job-configmap=settings',
  '--node-agent-configmap=settings',
  '--item-block-worker-count=2',
  '--concurrent-backups=3',
]

interface PrintedWorkload {
  kind: string
  spec: { template: { spec: { containers: { args: string[] }[] } } }
}

describe('the flags of velero install', { skip: given.skip }, async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-flags-'))
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster
  const settings = path.join(folder, 'settings.json')
  before(async () => {
    await writeFile(settings, '{}')
    await kubectl(['create', 'namespace', namespace])
    await kubectl(['-n', namespace, 'create', 'configmap', 'settings', `--from-file=${settings}`])
  })
  after(async () => {
    await kubectl(['delete', 'namespace', namespace, '--wait=false'])
    await rm(folder, { recursive: true })
  })

  async function velero(...args: string[]): Promise<string> {
    const access = ['--kubeconfig', given.cluster.kubeconfigPath, '--namespace', namespace]
    return (await run(await tool('velero'), [...args, ...access])).stdout
  }

  async function argumentsFor(flags: readonly string[]): Promise<string[][]> {
    const storage = ['--provider=aws', '--bucket=b', '--no-secret', '--plugins=a/b:1']
    const printed = await velero('install', '--dry-run', '-ojson', ...storage, ...flags)
    const { items } = JSON.parse(printed) as { items: PrintedWorkload[] }
    return items
      .filter(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet')
      .map(({ spec }) => spec.template.spec.containers[0]?.args ?? [])
  }

  it('are all there, under the same names', async () => {
    const help = await velero('install', '--help')
    const names = [...help.matchAll(/^ +(?:-\w, |)--([\w-]+)/gm)].map(([, name = '']) => name)
    assert.ok(names.includes('provider') && names.includes('kubelet-root-dir'), help)
    const ours = new Set([...Object.keys(installFlags), ...Object.keys(globalFlags), 'help'])
    // Columns are for tables, and neither program prints objects of an installation as one.
    const missing = names.filter(name => !ours.has(name))
    assert.deepEqual(missing, ['label-columns', 'show-labels'])
  })

  for (const [title, flags] of [
    ['no flags', []],
    ['every flag', passedOn],
  ] as const) {
    it(`of containers made with ${title} are all known to our server and node agent`, async () => {
      const commands = await argumentsFor(flags)
      assert.equal(commands.length, flags.length === 0 ? 1 : 3)
      for (const args of commands) {
        const parsed = parseCommandLine(commandTree, globalFlags, args)
        assert.ok(parsed.want === 'run', args.join(' '))
        readFlagValues({ ...globalFlags, ...parsed.command.flags }, parsed.given)
      }
    })
  }

  for (const flag of crashing) {
    it(`${flag} is refused, because the server would be, and the remedy is named`, async () => {
      const [args = []] = await argumentsFor([flag])
      assert.ok(!Object.keys(serverFlags).some(name => args.at(-1)?.startsWith(`--${name}=`)))
      const failed = run(process.execPath, [
        path.resolve(import.meta.dirname, '../../packages/cli/bin/lateen.js'),
        ...['install', '--dry-run', '--provider=aws', '--bucket=b', '--no-secret', flag],
      ])
      await assert.rejects(failed, { stderr: /not known to the server.*--repo-maintenance-job-configmap/ })
    })
  }
})
