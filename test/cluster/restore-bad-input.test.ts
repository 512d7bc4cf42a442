import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { BackupKind, type BackupPhase, type RestoreSpec } from '@lateen/api'
import { serverDefaults } from '@lateen/server'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { startWebhook } from './admission-webhook.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { archiveOf, configMap, type Stored, stored } from './restore-harness.ts'
import { publishBackup } from './restores.ts'

const given = await givenCluster({ s3: true })

describe('a restore with input that makes no sense', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  const create = (object: object) =>
    given.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(object) })

  before(async () => {
    scene = await openServerScene(given.cluster, 'restore-bad-input')
    // Backups stay in the phase that a test gives them.
    const disabledControllers = ['backup', 'backup-queue', 'backup-finalizer', 'backup-operations']
    const backupDefaults = { ...serverDefaults.backupDefaults, resourceTimeout: 2_000 }
    await scene.start({ disabledControllers, backupDefaults, terminatingResourceTimeout: 2_000 })
    const archive = archiveOf(stored(configMap({ namespace: 'source', name: 'plain' }, { a: 'b' })))
    await publishBackup(scene, { name: 'whole', archive })
  })
  after(() => scene?.[Symbol.asyncDispose]())

  async function createBackup(name: string, { phase, at }: { phase: BackupPhase; at: string }) {
    await create({
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: { name, namespace: scene.namespace },
      spec: { storageLocation: at },
      status: { phase },
    })
  }

  async function createModifiers(name: string, text: string) {
    const metadata = { name, namespace: scene.namespace }
    await create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { rules: text } })
  }

  /** Its errors, all of which come before anything happens. */
  async function refused(name: string, spec: RestoreSpec): Promise<readonly string[]> {
    const { status, metadata } = await scene.restores.run(name, spec)
    assert.equal(status?.phase, 'FailedValidation', JSON.stringify(status))
    assert.equal(metadata.finalizers, undefined)
    const files = (await scene.bucket.keys()).filter(key => key.startsWith(`restores/${name}/`))
    assert.deepEqual(files, [])
    return status?.validationErrors ?? []
  }

  /** Every error of a restore that could not restore everything. */
  async function failed(name: string, spec: RestoreSpec): Promise<readonly string[]> {
    const { status } = await scene.restores.run(name, spec)
    assert.equal(status?.phase, 'PartiallyFailed', JSON.stringify(status))
    const { velero = [], cluster = [], namespaces = {} } = (await scene.bucket.restoreResults(name)).errors
    return [...velero, ...cluster, ...Object.values(namespaces).flat()]
  }

  const into = (backupName: string) => ({ backupName, namespaceMapping: { source: scene.data } })

  it('is refused when there is no such backup', async () => {
    const errors = await refused('missing', { backupName: 'no-such-backup' })
    assert.equal(errors.length, 1)
    assert.match(errors[0] ?? '', /can't find backup \S+\/no-such-backup: .*; .*lateen backup get/)
  })

  for (const phase of BackupKind.phases?.phases ?? []) {
    if (phase === 'Completed' || phase === 'PartiallyFailed') continue
    it(`is refused when its backup is ${phase}`, async () => {
      const name = `in-${phase.toLowerCase()}`
      await createBackup(name, { phase, at: 'default' })
      const errors = await refused(name, { backupName: name })
      assert.equal(errors.length, 1, errors.join('\n'))
      const says = new RegExp(`${name} is in the phase ${phase}: .*; (?:wait until|choose another)`)
      assert.match(errors[0] ?? '', says)
    })
  }

  it('is refused when the location of its backup does not exist or does not work', async () => {
    await createBackup('homeless', { phase: 'Completed', at: 'no-such-location' })
    const [missing, ...others] = await refused('homeless', { backupName: 'homeless' })
    assert.match(missing ?? '', /"no-such-location" not found; create the location again/)
    assert.deepEqual(others, [])
    await scene.locations.create('broken', {
      provider: 'aws',
      objectStorage: { bucket: 'no-such-bucket' },
      config: { region: 'us-east-1', s3ForcePathStyle: 'true', s3Url: given.cluster.s3.endpoint },
      credential: { name: 'cloud', key: 'cloud' },
    })
    await scene.locations.unavailable('broken', 'no-such-bucket')
    await createBackup('unreachable', { phase: 'Completed', at: 'broken' })
    const errors = await refused('unreachable', { backupName: 'unreachable' })
    assert.equal(errors.length, 1)
    assert.match(errors[0] ?? '', /The BSL broken is unavailable.*no-such-bucket.*; restore again when/s)
  })

  it('fails when its backup has no archive, and says so', async () => {
    await createBackup('hollow', { phase: 'Completed', at: 'default' })
    const { status } = await scene.restores.run('hollow', { backupName: 'hollow' })
    assert.equal(status?.phase, 'Failed')
    assert.match(status?.failureReason ?? '', /the backup hollow has no archive in its storage location/)
  })

  it('is refused when its mapping leads two namespaces into one, or to names that none can have', async () => {
    const errors = await refused('mapping', {
      backupName: 'whole',
      namespaceMapping: { one: 'target', two: 'target', three: 'Not_A_Name', four: '' },
    })
    assert.equal(errors.length, 3, errors.join('\n'))
    const text = errors.join('\n')
    assert.match(text, /one and two would both be restored into target; map each/)
    assert.match(text, /"three:Not_A_Name": "Not_A_Name" cannot be the name of a namespace, which has/)
    assert.match(text, /"four:"/)
  })

  it('is refused with every mistake of its modifiers, and where each is', async () => {
    await createModifiers(
      'mistaken',
      `version: v1
resourceModifierRules:
- conditions:
    groupResource: configmaps
    namespaces: ["["]
    resourceNameRegex: "a("
  patches:
  - operation: paint
    path: "data/a"
    value: "1"
- conditions: {}
  colour: blue
`,
    )
    const resourceModifier = { kind: 'configmap', name: 'mistaken' }
    const errors = await refused('mistaken', { ...into('whole'), resourceModifier })
    const text = errors.join('\n')
    for (const part of [/line 6.*a\(/, /line 8.*paint/, /line 11/, /line 12.*colour/]) {
      assert.match(text, part)
    }
  })

  it('is refused when its modifiers are no YAML, or do not exist', async () => {
    await createModifiers('no-yaml', 'version: v1\nresourceModifierRules: [\n- }')
    const broken = await refused('no-yaml', {
      ...into('whole'),
      resourceModifier: { kind: 'configmap', name: 'no-yaml' },
    })
    assert.match(broken.join('\n'), /configmap \S+\/no-yaml: .*line \d/)
    const missing = await refused('no-modifiers', {
      ...into('whole'),
      resourceModifier: { kind: 'configmap', name: 'no-such-modifiers' },
    })
    assert.match(missing.join('\n'), /configmap \S+\/no-such-modifiers: it does not exist; create it/)
  })

  it('tells of a path in its modifiers that the object does not have', async () => {
    await createModifiers(
      'no-path',
      `version: v1
resourceModifierRules:
- conditions: {groupResource: configmaps}
  patches:
  - operation: replace
    path: "/no/such/path"
    value: "1"
`,
    )
    const errors = await failed('no-path', {
      ...into('whole'),
      resourceModifier: { kind: 'configmap', name: 'no-path' },
    })
    assert.equal(errors.length, 1, errors.join('\n'))
    assert.match(
      errors[0] ?? '',
      /configmaps \S+\/plain: the resource modifier in line 3 .*nothing at \/no\/such\/path/,
    )
  })

  it('says which webhook refuses an object, and what to do', async () => {
    const name = `no.${scene.namespace}.test`
    const labels = { 'lateen.test/ask': name }
    const archive = archiveOf(
      stored(configMap({ namespace: 'source', name: 'asked', labels })),
      stored(configMap({ namespace: 'source', name: 'unasked' })),
    )
    await publishBackup(scene, { name: 'webhook', archive })
    {
      await using _webhook = await startWebhook(given.cluster, { name, denial: 'not on my watch' })
      const errors = await failed('denied', into('webhook'))
      assert.equal(errors.length, 1, errors.join('\n'))
      assert.match(errors[0] ?? '', /configmaps\/\S+\/asked: .*not on my watch/)
      assert.match(errors[0] ?? '', new RegExp(`${name.replaceAll('.', '\\.')}.*resource modifier.*webhook`))
    }
    await given.cluster.kubectl(['get', 'configmap', 'unasked', '-n', scene.data])
    assert.equal((await scene.restores.run('allowed', into('webhook'))).status?.phase, 'Completed')
  })

  it('tells of a definition that never becomes ready, and of its objects', async () => {
    // Paths in a simple archive have at most 100 characters.
    const group = `b${process.pid}.test`
    const definition = (plural: string, kind: string): Stored => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}` } as Stored['metadata'],
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    })
    const crd = (object: Stored) => ({ plural: 'customresourcedefinitions', object })
    await create(definition('buoys', 'Buoy'))
    // Its kind is taken, so that the server never accepts its names.
    const archive = archiveOf(
      crd(definition('floats', 'Buoy')),
      stored(configMap({ namespace: 'source', name: 'other' })),
      {
        plural: 'floats',
        object: { apiVersion: `${group}/v1`, kind: 'Buoy', metadata: { namespace: 'source', name: 'one' } },
      },
    )
    await publishBackup(scene, { name: 'definition', archive })
    const errors = await failed('definition', into('definition'))
    const text = errors.join('\n')
    assert.match(text, new RegExp(`floats\\.${group}.*not available to use.*kubectl get crd floats`))
    assert.match(text, new RegExp(`error restoring floats\\.${group}/\\S+/one: .*does not serve Buoy`))
    await given.cluster.kubectl(['get', 'configmap', 'other', '-n', scene.data])
  })

  it('tells of a namespace that stays terminating', async () => {
    const stuck = `${scene.data}-stuck`
    await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: stuck } })
    await create(configMap({ namespace: stuck, name: 'held', finalizers: ['lateen.dev/held'] }))
    await given.cluster.kubectl(['delete', 'namespace', stuck, '--wait=false'])
    const errors = await failed('stuck', { backupName: 'whole', namespaceMapping: { source: stuck } })
    assert.equal(errors.length, 1, errors.join('\n'))
    assert.match(
      errors[0] ?? '',
      new RegExp(`terminating namespace ${stuck}.*--terminating-resource-timeout`),
    )
    const freed = JSON.stringify({ metadata: { finalizers: null } })
    await given.cluster.kubectl(['patch', 'cm', 'held', '-n', stuck, '--type=merge', '-p', freed])
  })

  it('does not keep the next one from being made', async () => {
    const { status } = await scene.restores.run('next', into('whole'))
    assert.equal(status?.phase, 'Completed')
  })
})
