import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Backup, BackupSpec } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { createConfigMaps, openServerScene, type ServerScene } from './backup-server-scene.ts'

const given = await givenCluster({ s3: true })

interface Results {
  errors: { namespaces?: Record<string, string[]>; velero?: string[]; cluster?: string[] }
  warnings: Results['errors']
}

const allOf = ({ namespaces = {}, velero = [], cluster = [] }: Results['errors']) =>
  [...velero, ...cluster, ...Object.values(namespaces).flat()].join('\n')

describe('a backup with input that makes no sense', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene

  before(async () => {
    scene = await openServerScene(given.cluster, 'backup-bad-input')
    await createConfigMaps(scene, { count: 2, bytes: 10 })
    await scene.start()
  })
  after(() => scene?.[Symbol.asyncDispose]())

  async function refused(name: string, spec: BackupSpec): Promise<readonly string[]> {
    const { status } = await scene.backups.take(name, spec)
    assert.equal(status?.phase, 'FailedValidation', JSON.stringify(status))
    assert.equal((await scene.bucket.files()).has(name), false)
    return status?.validationErrors ?? []
  }

  async function results({ metadata }: Backup): Promise<Results> {
    return (await scene.bucket.readJson(metadata.name ?? '', '-results.gz')) as Results
  }

  it('takes the other namespaces when one does not exist, and names that one in an error', async () => {
    const taken = await scene.backups.take('namespace', { includedNamespaces: ['no-such-one', scene.data] })
    assert.equal(taken.status?.phase, 'PartiallyFailed')
    assert.equal((await results(taken)).errors.namespaces?.['no-such-one']?.length, 1)
    const paths = await scene.bucket.paths('namespace')
    assert.ok(paths.includes(`resources/configmaps/namespaces/${scene.data}/plain-1.json`))
  })

  it('takes the other resources when one does not exist, and names that one in a warning', async () => {
    const taken = await scene.backups.take('resource', {
      includedNamespaces: [scene.data],
      includedResources: ['no-such-things', 'configmaps'],
    })
    assert.equal(taken.status?.phase, 'Completed')
    assert.match(allOf((await results(taken)).warnings), /no-such-things/)
    const paths = await scene.bucket.paths('resource')
    assert.ok(paths.includes(`resources/configmaps/namespaces/${scene.data}/plain-1.json`))
  })

  it('is refused when its storage location does not exist', async () => {
    const [error = '', ...others] = await refused('location', { storageLocation: 'no-such-location' })
    assert.match(error, /no-such-location/)
    assert.deepEqual(others, [])
  })

  it('is refused with all that is wrong with it at once', async () => {
    const errors = await refused('everything', {
      storageLocation: 'no-such-location',
      includedNamespaces: ['*', 'other'],
      includedResources: ['pods'],
      excludedResources: ['pods'],
      includedClusterScopedResources: ['nodes'],
      labelSelector: { matchExpressions: [{ key: 'a', operator: 'Sounds', values: ['like'] }] },
      orLabelSelectors: [{ matchLabels: { 'not a key': 'x' } }],
      hooks: {
        resources: [
          {
            name: 'freeze',
            includedNamespaces: ['[a'],
            labelSelector: { matchLabels: { a: 'not a value!' } },
            pre: [{ exec: { command: ['true'] } }],
          },
        ],
      },
      resourcePolicy: { kind: 'configmap', name: 'no-such-policies' },
    })
    const text = errors.join('\n')
    for (const part of [
      /no-such-location/,
      /includes list must either contain '\*' only/,
      /excludes list cannot contain an item in the includes list: pods/,
      /They cannot be used together/,
      /labelSelector as well as orLabelSelectors/,
      /Sounds/,
      /not a key/,
      /invalid hook "freeze": .*not a value!/,
      /invalid hook "freeze": .*\[a/,
      /no-such-policies/,
    ]) {
      assert.match(text, part)
    }
  })

  it('is refused with every problem of its policies in one message', async () => {
    const policies = `
version: v2
colour: blue
volumePolicies:
- conditions: {capacity: "10Gi,1Gi"}
  action: {type: shred}
namespacedFilterPolicies:
- namespaces: []
  resourceFilters: [{kinds: [secrets]}]
`
    const metadata = { name: 'policies', namespace: scene.namespace }
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { policies } })
    await given.cluster.kubectl(['create', '-f', '-'], { stdin })
    const errors = await refused('policies', { resourcePolicy: { kind: 'configmap', name: 'policies' } })
    assert.equal(errors.length, 1)
    for (const part of [/v2/, /colour/, /10Gi,1Gi/, /shred/, /at least one namespace/]) {
      assert.match(errors[0] ?? '', part)
    }
  })

  it('is refused when its policies are not YAML', async () => {
    const metadata = { name: 'not-yaml', namespace: scene.namespace }
    const data = { policies: 'version: [v1\n- }' }
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data })
    await given.cluster.kubectl(['create', '-f', '-'], { stdin })
    const errors = await refused('not-yaml', { resourcePolicy: { kind: 'configmap', name: 'not-yaml' } })
    assert.match(errors.join('\n'), /ConfigMap .*not-yaml/)
  })

  it('does not keep the next one from being taken', async () => {
    const { status } = await scene.backups.take('next', { includedNamespaces: [scene.data] })
    assert.equal(status?.phase, 'Completed')
  })
})
