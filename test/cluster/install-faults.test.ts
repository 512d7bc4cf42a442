import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { BackupKind, crdFor } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilAllowed } from '../../tools/cluster/until-allowed.ts'
import { untilEstablished } from '../../tools/cluster/until-established.ts'
import { type Ended, type Lateen, lateenFor } from './cli-runner.ts'
import { allObjects, backTo, settledObjects } from './install-scene.ts'

const given = await givenCluster({ own: true })
const lateen: Lateen = given.skip
  ? () => Promise.reject(new Error(given.skip || ''))
  : await lateenFor(given.cluster.kubeconfigPath)

const install = ['install', '--provider=aws', '--bucket=b', '--no-secret']

function assertRefused(ended: Ended, message: RegExp): void {
  assert.equal(ended.status, 1)
  assert.match(ended.stderr, message)
  assert.match(ended.stderr, /^An error occurred: [^\n]+\n$/)
}

describe('lateen install and uninstall', { skip: given.skip, concurrency: false }, async () => {
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-install-'))
  let clean: Set<string>
  after(() => rm(folder, { recursive: true }))
  before(async () => {
    clean = await settledObjects(given.cluster)
  })

  const apply = (object: object) => kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(object) })
  const unchanged = async () => assert.deepEqual(await allObjects(given.cluster), clean)

  async function succeed(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await lateen(args)
    assert.equal(status, 0, stderr)
    return stdout
  }

  describe('from a wrong place', () => {
    for (const command of [install, ['uninstall', '--force']]) {
      it(`${command[0]} names a kubeconfig that is missing or broken`, async () => {
        const missing = path.join(folder, 'missing')
        assertRefused(await lateen([...command, `--kubeconfig=${missing}`]), /missing/)
        const broken = path.join(folder, 'broken')
        await writeFile(broken, 'clusters: [')
        assertRefused(await lateen([...command, `--kubeconfig=${broken}`]), /broken/)
      })

      it(`${command[0]} names an API server that does not answer`, async () => {
        const real = await readFile(given.cluster.kubeconfigPath, 'utf8')
        const nowhere = path.join(folder, 'nowhere')
        await writeFile(nowhere, real.replace(/https:\/\/[^\s"]+/, 'https://127.0.0.1:1'))
        assertRefused(await lateen([...command, `--kubeconfig=${nowhere}`]), /127\.0\.0\.1:1\b/)
      })

      it(`${command[0]} without rights changes nothing and says what is missing`, async () => {
        const kubeconfig = await given.cluster.kubeconfigFor('stranger')
        const refused = await lateen([...command, `--kubeconfig=${kubeconfig}`])
        assertRefused(
          refused,
          command === install
            ? /nothing was changed, because rights are missing: .*create customresourcedefinitions\.apiextensions\.k8s\.io, .*create deployments\.apps/
            : /nothing was changed, because rights are missing: .*delete namespaces/,
        )
        await unchanged()
      })
    }
  })

  it('names the object that a right was missing for halfway, and the command finishes it with that right', async () => {
    const verbs = ['get', 'list', 'watch', 'create', 'patch', 'update', 'delete']
    const metadata = { name: 'nearly-all' }
    await apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata,
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs }],
    })
    await kubectl(['create', 'clusterrolebinding', 'nearly-all', '--clusterrole=nearly-all', '--user=deputy'])
    await untilAllowed(given.cluster, 'deputy', { verb: 'create', group: 'apps', resource: 'deployments' })
    const kubeconfig = await given.cluster.kubeconfigFor('deputy')
    // Whoever is not allowed everything may not allow it to others.
    assertRefused(
      await lateen([...install, `--kubeconfig=${kubeconfig}`]),
      /nothing was changed, because rights are missing: bind clusterroles\.rbac\.authorization\.k8s\.io\/cluster-admin /,
    )
    await assert.rejects(kubectl(['get', 'namespace', 'velero']), /not found/)
    await succeed(...install)
    const repeated = await lateen([...install, `--kubeconfig=${kubeconfig}`])
    assert.equal(repeated.status, 0, 'a binding that is there as it shall be is granted by nobody')
    await succeed('uninstall', '--force')
    const granting = [...install, '--rights=backup,restore,restore-roles']
    assertRefused(
      await lateen([...granting, `--kubeconfig=${kubeconfig}`]),
      /ClusterRole\/lateen was not applied: .*(run the same command again)/,
    )
    await kubectl(['delete', 'clusterrole/nearly-all', 'clusterrolebinding/nearly-all'])
    await succeed(...granting)
    await succeed('uninstall', '--force')
    await backTo(clean, given.cluster)
  })

  describe('beside definitions of another version', () => {
    const other = () => structuredClone(crdFor(BackupKind)) as unknown as OtherDefinition
    const warp = (factor: number) => ({
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: { name: 'fast', namespace: 'default' },
      spec: { warpFactor: factor },
    })
    const factor = ['-n', 'default', 'get', 'backup/fast', '-ojsonpath={.spec.warpFactor}']
    afterEach(async () => {
      const definitions = await kubectl(['get', 'crd', '-oname'])
      await kubectl(['delete', ...definitions.split('\n').filter(name => name.endsWith('.velero.io'))])
      await backTo(clean, given.cluster)
    })

    it('refuses a version that it does not know, and the stored objects stay', async () => {
      const definition = other()
      definition.spec.versions[0].name = 'v1beta1'
      await apply(definition)
      await untilEstablished(given.cluster, 'backups.velero.io')
      await apply({ ...warp(9), apiVersion: 'velero.io/v1beta1', spec: {} })
      assertRefused(await lateen(install), /backups\.velero\.io cannot be replaced: it has version v1beta1/)
      assert.match(await kubectl(['-n', 'default', 'get', 'backups.velero.io', '-oname']), /fast/)
      await assert.rejects(kubectl(['get', 'namespace', 'velero']), /not found/)
    })

    it('leaves a newer definition as it is, and a field of it keeps its value', async () => {
      const definition = other()
      specOf(definition).warpFactor = { type: 'integer' }
      await apply(definition)
      await untilEstablished(given.cluster, 'backups.velero.io')
      await apply(warp(9))
      assert.match(
        await succeed('install', '--crds-only'),
        /^Warning: CustomResourceDefinition\/backups\.velero\.io comes from a newer version .*: spec\.warpFactor$/m,
      )
      assert.equal(await kubectl(factor), '9')
    })

    it('refuses a definition whose other fields are in use, and replaces it when they are not', async () => {
      const definition = other()
      specOf(definition).warpFactor = { type: 'integer' }
      delete specOf(definition).ttl
      await apply(definition)
      await untilEstablished(given.cluster, 'backups.velero.io')
      await apply(warp(7))
      assertRefused(
        await lateen(install),
        /it has the field spec\.warpFactor, .* and Backup default\/fast uses: it would be lost/,
      )
      assert.equal(await kubectl(factor), '7')
      await kubectl(['-n', 'default', 'delete', 'backup/fast'])
      await succeed('install', '--crds-only')
      assert.match(await kubectl(['get', 'crd/backups.velero.io', '-oyaml']), /^ +ttl:$/m)
    })
  })

  it('install waits for no namespace that is being deleted', async () => {
    await kubectl(['create', 'namespace', 'velero'])
    const metadata = { name: 'kept', namespace: 'velero', finalizers: ['example.com/kept'] }
    await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata })
    await kubectl(['delete', 'namespace', 'velero', '--wait=false'])
    assertRefused(await lateen(install), /namespace velero is being deleted/)
    await kubectl(['-n', 'velero', 'patch', 'configmap/kept', '--type=merge', '-p', finalizersOff])
    await backTo(clean, given.cluster)
  })

  it('install refuses settings that pods would not find', async () => {
    assertRefused(
      await lateen([...install, '--repo-maintenance-job-configmap=jobs']),
      /ConfigMap velero\/jobs of --repo-maintenance-job-configmap does not exist/,
    )
    await unchanged()
  })
})

const finalizersOff = '{"metadata":{"finalizers":null}}'

interface OtherDefinition {
  spec: {
    versions: [{ name: string; schema: { openAPIV3Schema: { properties: { spec: WithFields } } } }]
  }
}

interface WithFields {
  properties: Record<string, object>
}

function specOf({ spec }: OtherDefinition): Record<string, object> {
  return spec.versions[0].schema.openAPIV3Schema.properties.spec.properties
}
