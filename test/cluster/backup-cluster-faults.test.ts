import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import type { BackupItemAction } from '@lateen/plugin'
import { builtInBackupActions } from '../../packages/server/src/builtin-actions/built-in-backup-actions.ts'
import type { Results } from '../../packages/server/src/report/report.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilEstablished } from '../../tools/cluster/until-established.ts'
import { untilSeen } from '../../tools/cluster/wait-until.ts'
import { startAggregatedApi } from './aggregated-api.ts'
import { listedAs, takeBackup } from './backup-harness.ts'
import { createConfigMaps, openServerScene } from './backup-server-scene.ts'

const given = await givenCluster({ own: true, s3: true })
const namespace = 'backup-cluster-faults'
const everything = { includedNamespaces: [namespace] }

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'sails.faults.lateen.dev' },
  spec: {
    group: 'faults.lateen.dev',
    scope: 'Namespaced',
    names: { kind: 'Sail', plural: 'sails', singular: 'sail' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

const sail = (name: string, cloth = '') => ({
  apiVersion: 'faults.lateen.dev/v1',
  kind: 'Sail',
  metadata: { name, namespace },
  cloth,
})

const errorsIn = ({ errors }: Results) =>
  [
    ...(errors.velero ?? []),
    ...(errors.cluster ?? []),
    ...Object.values(errors.namespaces ?? {}).flat(),
  ].join('\n')

describe('a backup of a cluster that fails', { skip: given.skip, concurrency: false }, () => {
  let client: KubeClient
  const kubectl = (args: readonly string[], object?: object) =>
    given.cluster.kubectl(args, object && { stdin: JSON.stringify(object) })
  const defineSails = async () => {
    await kubectl(['apply', '--server-side', '-f', '-'], definition)
    await untilEstablished(given.cluster, 'sails.faults.lateen.dev')
  }
  /** Deletes the definition, and waits until the API server, which hears of that a moment later, serves and announces it no more. */
  const deleteSails = async () => {
    await kubectl(['delete', 'crd/sails.faults.lateen.dev', '--timeout=60s'])
    const sails = `/apis/faults.lateen.dev/v1/namespaces/${namespace}/sails`
    const isGone = () =>
      kubectl(['get', '--raw', sails]).then(
        () => false,
        error => /NotFound|could not find the requested resource/.test(String(error)),
      )
    await untilSeen('that sails are not served', isGone)
    const announced = ['api-resources', '--api-group=faults.lateen.dev', '-o=name', '--cached=false']
    await untilSeen('that sails are not announced', () =>
      kubectl(announced).then(
        names => names.trim() === '',
        () => false,
      ),
    )
  }
  const withAction = (action: BackupItemAction) => {
    const builtIn = builtInBackupActions({ client })
    return { ...builtIn, backupItemActions: [...builtIn.backupItemActions, { name: 'test/fault', action }] }
  }

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    await kubectl(['create', 'namespace', namespace])
    await createConfigMaps({ cluster: given.cluster, data: namespace }, { count: 40, bytes: 100 })
  })
  after(() => client?.[Symbol.asyncDispose]())

  it('names an API group whose server is ill, and takes the rest', async () => {
    await using _ill = await startAggregatedApi(given.cluster, { group: 'ill.lateen.dev', types: 'ill' })
    await untilSeen('that the group is ill', async () => {
      await client.discovery.refresh()
      return (await client.discovery.failures()).some(({ group }) => group === 'ill.lateen.dev')
    })
    await takeBackup({ client, spec: everything }, async ({ results, outcome }) => {
      assert.match(errorsIn(results), /ill\.lateen\.dev/)
      assert.ok(listedAs('v1/ConfigMap', outcome).includes(`${namespace}/plain-39`))
    })
    const spec = { ...everything, includedResources: ['configmaps'] }
    await takeBackup({ client, spec }, async ({ results }) => assert.deepEqual(results.errors, {}))
  })

  it('takes an API group that announces 5,000 types', async () => {
    await using _vast = await startAggregatedApi(given.cluster, { group: 'vast.lateen.dev', types: 5_000 })
    const spec = { includedNamespaces: ['default'] }
    await takeBackup({ client, spec, workers: 8 }, async ({ results, outcome, paths }) => {
      assert.deepEqual(results.errors, {})
      const types = Object.keys(outcome.resourceList).filter(type => type.startsWith('vast.lateen.dev/'))
      assert.equal(types.length, 5_000)
      assert.ok(paths.includes('resources/things4999.vast.lateen.dev/namespaces/default/only.json'))
    })
  })

  it('stores objects of 1.4 MiB as they are', async () => {
    await defineSails()
    const cloth = 'canvas '.repeat(1.4 * 2 ** 17)
    for (let index = 0; index < 4; index++) {
      await kubectl(['create', '-f', '-'], sail(`large-${index}`, `${cloth}${index}`))
    }
    await takeBackup({ client, spec: everything, workers: 4 }, async ({ read, results }) => {
      assert.deepEqual(results.errors, {})
      for (let index = 0; index < 4; index++) {
        const stored = await read(
          `resources/sails.faults.lateen.dev/namespaces/${namespace}/large-${index}.json`,
        )
        assert.equal((stored as unknown as { cloth: string }).cloth, `${cloth}${index}`)
      }
    })
  })

  it('names a type whose definition is deleted before its objects are listed, and takes the rest', async () => {
    await takeBackup(
      { client, spec: everything, beforeCollecting: deleteSails },
      async ({ results, paths }) => {
        assert.match(errorsIn(results), /sails\.faults\.lateen\.dev/)
        assert.ok(paths.includes(`resources/configmaps/namespaces/${namespace}/plain-39.json`))
        assert.deepEqual(
          paths.filter(path => path.includes('sails')),
          [],
        )
      },
    )
  })

  it('stores objects whose definition is deleted after they were listed', async () => {
    await defineSails()
    await kubectl(['create', '-f', '-'], sail('jib'))
    const action: BackupItemAction = {
      appliesTo: async () => ({ includedResources: ['sails'] }),
      async execute({ item }) {
        await deleteSails()
        return { item, unchanged: true }
      },
    }
    await takeBackup({ client, spec: everything, ports: withAction(action) }, async ({ paths }) => {
      assert.ok(paths.includes(`resources/sails.faults.lateen.dev/namespaces/${namespace}/jib.json`))
      assert.ok(paths.includes(`resources/configmaps/namespaces/${namespace}/plain-39.json`))
    })
  })

  let back = Promise.resolve()

  /** Takes the API server away; it comes back a little later, while whoever asked for this goes on. */
  async function restartApiServer(): Promise<void> {
    await given.cluster.kill('kube-apiserver')
    back = sleep(1_500).then(() => given.cluster.start('kube-apiserver'))
  }

  it('waits for an API server that is restarted before anything is listed', async () => {
    const beforeCollecting = restartApiServer
    await takeBackup({ client, spec: everything, beforeCollecting }, async ({ results, paths }) => {
      assert.deepEqual(results.errors, {})
      assert.ok(paths.includes(`resources/configmaps/namespaces/${namespace}/plain-39.json`))
    })
    await back
  })

  it('waits for an API server that is restarted while objects are stored', async () => {
    await kubectl(['create', 'secret', 'generic', 'elsewhere', '-n', 'default'])
    const action: BackupItemAction = {
      appliesTo: async () => ({ includedResources: ['configmaps'] }),
      async execute({ item }) {
        if (item.metadata.name !== 'plain-7') return { item, unchanged: true }
        await restartApiServer()
        item.metadata.annotations = { 'backup.velero.io/must-include-additional-items': 'true' }
        const elsewhere = { group: '', resource: 'secrets', namespace: 'default', name: 'elsewhere' }
        return { item, additionalItems: [elsewhere] }
      },
    }
    const spec = { ...everything, includedResources: ['configmaps'] }
    await takeBackup({ client, spec, ports: withAction(action) }, async ({ results, paths }) => {
      assert.deepEqual(results.errors, {})
      assert.ok(paths.includes('resources/secrets/namespaces/default/elsewhere.json'))
      assert.ok(paths.includes(`resources/configmaps/namespaces/${namespace}/plain-39.json`))
    })
    await back
  })
})

describe('a server whose API server is restarted', { skip: given.skip, concurrency: false }, () => {
  it('ends the backup that it was taking, and takes the next', async () => {
    await using scene = await openServerScene(given.cluster, 'restarted')
    await createConfigMaps(scene, { count: 200, bytes: 10_000 })
    // A server that cannot renew its lease for ten seconds ends, and an API server may take longer to start.
    const lease = { duration: 120_000, renewDeadline: 110_000, retryPeriod: 2_000 }
    const server = await scene.start({ lease })
    await scene.backups.create('during', { includedNamespaces: [scene.data] })
    await scene.backups.begun('during')
    await given.cluster.kill('kube-apiserver')
    await sleep(1_500)
    await given.cluster.start('kube-apiserver')
    const during = await scene.backups.ended('during')
    assert.equal(during.status?.phase, 'Completed', JSON.stringify(during.status))
    const after = await scene.backups.take('after', { includedNamespaces: [scene.data] })
    assert.equal(after.status?.phase, 'Completed')
    assert.equal(await server.stop(), 0)
  })
})
