import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { type Ended, type Lateen, lateenFor } from './cli-runner.ts'
import { configMap, handsOn, type Stored } from './restore-harness.ts'

const given = await givenCluster({ s3: true })
const lateen: Lateen = given.skip
  ? () => Promise.reject(new Error(given.skip || ''))
  : await lateenFor(given.cluster.kubeconfigPath)

const base64 = (text: string): string => Buffer.from(text).toString('base64')

interface Difference {
  change: string
  kind: string
  namespace: string
  name: string
  changes?: { path: string; before?: unknown; after?: unknown }[]
}

describe('lateen backup diff', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  const { create } = handsOn({ kubectl: (...args) => given.cluster.kubectl(...args) })

  function diff(...args: string[]): Promise<Ended> {
    return lateen(['-n', scene.namespace, 'backup', 'diff', ...args])
  }

  async function differences(...args: string[]): Promise<Difference[]> {
    const { stdout, stderr, status } = await diff(...args, '-o', 'json')
    assert.equal(stderr, '')
    assert.equal(status, 0)
    const { items } = JSON.parse(stdout) as { items: Difference[] }
    return items.filter(({ name }) => name !== 'kube-root-ca.crt')
  }

  async function patch(kind: string, name: string, body: object): Promise<void> {
    await given.cluster.kubectl([
      'patch',
      kind,
      name,
      '-n',
      scene.data,
      '--type=merge',
      '-p',
      JSON.stringify(body),
    ])
  }

  before(async () => {
    scene = await openServerScene(given.cluster, 'diff')
    await scene.start()
    const { data: namespace } = scene
    const secret: Stored = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: 'keys' },
      data: { same: base64('constant'), other: base64('before') },
    }
    const volume: Stored = {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: namespace },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: '/nowhere' },
        claimRef: { namespace, name: 'data' },
      },
    }
    const claim: Stored = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { namespace, name: 'data' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: '',
        volumeName: namespace,
        resources: { requests: { storage: '1Gi' } },
      },
    }
    await create(
      configMap({ namespace, name: 'stays' }, { v: '1' }),
      configMap({ namespace, name: 'changes' }, { v: 'old', gone: 'yes' }),
      configMap({ namespace, name: 'goes' }),
      secret,
      volume,
      claim,
    )
    const bound = '--for=jsonpath={.status.phase}=Bound'
    await given.cluster.kubectl(['wait', bound, 'pvc/data', '-n', namespace, '--timeout=120s'])
    const spec = { includedNamespaces: [namespace] }
    assert.equal((await scene.backups.take('monday', spec)).status?.phase, 'Completed')
    await patch('configmap', 'changes', { data: { v: 'new', gone: null } })
    await patch('secret', 'keys', { data: { other: base64('after') } })
    await patch('configmap', 'stays', { metadata: { annotations: { a: 'b' } } })
    await patch('configmap', 'stays', { metadata: { annotations: null } })
    await given.cluster.kubectl(['delete', 'configmap', 'goes', '-n', namespace])
    await create(configMap({ namespace, name: 'comes' }, { v: '1' }))
    assert.equal((await scene.backups.take('tuesday', spec)).status?.phase, 'Completed')
  })

  after(async () => {
    await scene[Symbol.asyncDispose]()
    await given.cluster.kubectl(['delete', 'pv', scene.data, '--ignore-not-found', '--wait=false'])
  })

  function expected(): Map<string, string> {
    return new Map([
      ['ConfigMap changes', 'changed'],
      ['ConfigMap goes', 'removed'],
      ['ConfigMap comes', 'added'],
      ['Secret keys', 'changed'],
    ])
  }

  it('tells of two backups what was added, removed and changed, and in which fields', async () => {
    const found = await differences('monday', 'tuesday')
    assert.deepEqual(new Map(found.map(({ kind, name, change }) => [`${kind} ${name}`, change])), expected())
    assert.deepEqual(found.find(({ name }) => name === 'changes')?.changes, [
      { path: 'data.gone', before: 'yes' },
      { path: 'data.v', before: 'old', after: 'new' },
    ])
  })

  it('tells the same of a backup and the cluster, also of what the backup took along', async () => {
    const found = await differences('monday', '--live')
    assert.deepEqual(new Map(found.map(({ kind, name, change }) => [`${kind} ${name}`, change])), expected())
    await given.cluster.kubectl(['label', 'pv', scene.data, 'new=label'])
    const later = await differences('tuesday', '--live')
    assert.deepEqual(
      later.map(({ kind, change, changes }) => ({ kind, change, changes })),
      [
        {
          kind: 'PersistentVolume',
          change: 'changed',
          changes: [{ path: 'metadata.labels', after: { new: 'label' } }],
        },
      ],
    )
  })

  it('finds nothing between a backup and itself', async () => {
    assert.deepEqual(await differences('tuesday', 'tuesday'), [])
    const { stdout, status } = await diff('tuesday', 'tuesday', '--exit-code')
    assert.equal(stdout, 'tuesday and tuesday: 0 added, 0 removed, 0 changed.\n')
    assert.equal(status, 0)
  })

  it('hides the values of Secrets unless asked for, and shows which differ', async () => {
    const values = [base64('before'), base64('after'), base64('constant')]
    for (const output of ['json', 'yaml']) {
      const { stdout } = await diff('monday', 'tuesday', '-o', output)
      for (const value of values) assert.ok(!stdout.includes(value), `${output}: ${stdout}`)
    }
    const open = await diff('monday', 'tuesday', '-o', 'diff', '--show-secrets')
    for (const value of values) assert.ok(open.stdout.includes(value), open.stdout)
    const { stdout } = await diff('monday', 'tuesday', '-o', 'diff')
    for (const value of values) assert.ok(!stdout.includes(value), stdout)
    assert.match(stdout, /\n- {2}other: <masked \w+>\n\+ {2}other: <masked \w+>\n {3}same: <masked \w+>\n/)
  })

  it('prints tables, YAML and unified diffs', async () => {
    const table = await diff('monday', 'tuesday', '--exit-code')
    assert.match(table.stdout, /^CHANGE +KIND +NAMESPACE +NAME +FIELDS\n/)
    assert.match(table.stdout, /\nchanged +ConfigMap +\S+ +changes +data\.gone, data\.v\n/)
    assert.match(table.stdout, /\nmonday and tuesday: 1 added, 1 removed, 2 changed\.\n$/)
    assert.equal(table.status, 1)
    const yaml = parse((await diff('monday', 'tuesday', '-o', 'yaml')).stdout)
    assert.deepEqual(yaml.counts, { added: 1, removed: 1, changed: 2 })
    const { stdout } = await diff('monday', 'tuesday', '-o', 'diff')
    const place = `v1/ConfigMap/${scene.data}/changes`
    assert.ok(
      stdout.includes(
        `# changed ConfigMap ${scene.data}/changes\n--- monday/${place}\n+++ tuesday/${place}\n@@ `,
      ),
      stdout,
    )
    assert.match(stdout, /\n data:\n- {2}gone: yes\n- {2}v: old\n\+ {2}v: new\n/)
  })

  it('says what is wrong with what it was asked', async () => {
    const cases: [string[], RegExp][] = [
      [['monday'], /either a second backup or --live must be given, but not both/],
      [['monday', 'tuesday', '--live'], /either a second backup or --live must be given, but not both/],
      [['monday', 'never'], /backup "never" does not exist in namespace /],
    ]
    for (const [args, message] of cases) {
      const { stderr, status } = await diff(...args)
      assert.match(stderr, message)
      assert.equal(status, 1)
    }
  })
})
