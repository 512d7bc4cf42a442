import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import {
  createKubeClient,
  isGone,
  isUnauthorized,
  type KubeClient,
  loadKubeConfig,
  type ResourceClient,
  silentLogger,
  type Unstructured,
} from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilAllowed } from '../../tools/cluster/until-allowed.ts'
import { untilSeen, waitUntil } from '../../tools/cluster/wait-until.ts'
import { apiService } from './aggregated-api.ts'
import { type ConfigMap, ConfigMapKind } from './core-kinds.ts'
import { compactEtcd, revisionOfEtcd } from './kube-runtime-etcd.ts'

const namespace = 'default'
const count = 1000
const mine = { labelSelector: 'test=kube-client-faults' }
const given = await givenCluster({ own: true })

const nameOf = (number: number) => `map-${String(number).padStart(4, '0')}`
const allNames = Array.from({ length: count }, (_, number) => nameOf(number))
const configMap = (name: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { test: 'kube-client-faults' } },
  data: { text: 'x'.repeat(4096) },
})

describe('The client and a cluster in trouble', { skip: given.skip }, () => {
  let client: KubeClient
  const logged: string[] = []
  let maps: ResourceClient<ConfigMap>

  before(async () => {
    const log = { ...silentLogger, debug: (_fields: object, message: string) => void logged.push(message) }
    client = await createKubeClient({
      config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }),
      log,
      // About a minute and a half: a busy machine takes long to start an API server.
      retry: { attempts: 16 },
    })
    maps = client.resource(ConfigMapKind, namespace)
    await Promise.all(allNames.map(name => maps.create(configMap(name))))
  })

  after(() => client[Symbol.asyncDispose]())

  /** The names of everything, listed in small pages, with something happening when some of it has been read. */
  async function listDuring(event: () => Promise<unknown>): Promise<(string | undefined)[]> {
    const names: (string | undefined)[] = []
    for await (const { metadata } of maps.list({ ...mine, limit: 100 })) {
      if (names.push(metadata.name) === 50) await event()
    }
    return names
  }

  async function restartApiServer(): Promise<void> {
    await given.cluster.kill('kube-apiserver')
    await given.cluster.start('kube-apiserver')
  }

  it('lists every object once while the API server is killed and restarted', async () => {
    let starting: Promise<void> | undefined
    const isInterrupted = async () => logged.includes('Reading a page of a list again')
    const startLater = async () => {
      await untilSeen('that the list is interrupted', isInterrupted)
      await given.cluster.start('kube-apiserver')
    }
    const names = await listDuring(async () => {
      await given.cluster.kill('kube-apiserver')
      starting = startLater()
    })
    await starting
    assert.deepEqual(names, allNames)
  })

  it('lists every object once when the pages to come have been compacted away', async () => {
    const names = await listDuring(async () => {
      await maps.patch(nameOf(0), { type: 'merge', body: { data: { step: 'after the list began' } } })
      // The server answers from memory what etcd has forgotten, as far back as its own start.
      await restartApiServer()
      await compactEtcd(given.cluster.etcd)
    })
    assert.deepEqual(names, allNames)
    assert.ok(logged.includes('The pages of a list have expired'), 'the pages were still there')
  })

  const step = (value: string) =>
    maps.patch('watched', { type: 'apply', body: { data: { step: value } }, fieldManager: 'test' })

  /** Watches one object, and knows the version that it has come to. */
  function watchSteps() {
    const abort = new AbortController()
    const seen: string[] = []
    let version: string | undefined
    const watch = async () => {
      const fieldSelector = 'metadata.name=watched'
      for await (const event of maps.watch({ signal: abort.signal, fieldSelector })) {
        const isBookmark = event.type === 'BOOKMARK'
        version = isBookmark ? event.resourceVersion : event.object.metadata.resourceVersion
        if (!isBookmark) seen.push(`${event.type} ${event.object.data?.step}`)
      }
    }
    const watching = watch()
    watching.catch(() => undefined)
    return { abort, seen, watching, version: () => version }
  }

  /**
   * A watch that had seen the last write of all when the API server was killed. The next server begins with what it finds, and goes on from no
   * earlier version; the one that is killed writes for itself every few seconds.
   */
  async function watchUntilKilled(attempt = 1): Promise<ReturnType<typeof watchSteps>> {
    const watch = watchSteps()
    let steps = 0
    // An apply that changes nothing makes no event, and the first may come before the watch has begun.
    await waitUntil(
      async () => {
        steps += 1
        await step(`start ${attempt} ${steps}`)
        return watch.seen.length > 0
      },
      { timeoutMs: 120_000, failure: () => new Error('no event came') },
    )
    await step(`last ${attempt}`)
    await waitUntil(async () => watch.seen.includes(`MODIFIED last ${attempt}`), {
      timeoutMs: 120_000,
      failure: () => new Error(`not seen: ${watch.seen.join(', ')}`),
      everyMs: 5,
    })
    await given.cluster.kill('kube-apiserver')
    if ((await revisionOfEtcd(given.cluster.etcd)) === watch.version()) return watch
    watch.abort.abort()
    await given.cluster.start('kube-apiserver')
    assert.ok(attempt < 10, 'something was written after the last change each time')
    return watchUntilKilled(attempt + 1)
  }

  it('sees every change in a watch while the API server is killed and restarted', async () => {
    const { abort, seen, watching } = await watchUntilKilled()
    await given.cluster.start('kube-apiserver')
    await step('after the restart')
    await step('and once more')
    await waitUntil(async () => seen.includes('MODIFIED and once more'), {
      timeoutMs: 120_000,
      failure: () => new Error(`the watch did not resume: ${seen.join(', ')}`),
    })
    assert.deepEqual(seen.slice(-2), ['MODIFIED after the restart', 'MODIFIED and once more'])
    abort.abort()
    await assert.rejects(watching, { name: 'AbortError' })
  })

  it('says that a watch cannot go on when its version was compacted away', async () => {
    const seen: string[] = []
    const watching = (async () => {
      for await (const event of maps.watch({ fieldSelector: `metadata.name=${nameOf(1)}` }))
        seen.push(event.type)
    })()
    watching.catch(() => undefined)
    await waitUntil(
      async () => {
        await maps.patch(nameOf(1), {
          type: 'merge',
          body: { metadata: { annotations: { at: `${performance.now()}` } } },
        })
        return seen.length > 0
      },
      { timeoutMs: 120_000, failure: () => new Error('no event came') },
    )
    await maps.patch(nameOf(2), { type: 'merge', body: { data: { step: 'not for the watch' } } })
    await given.cluster.kill('kube-apiserver')
    await compactEtcd(given.cluster.etcd)
    await given.cluster.start('kube-apiserver')
    await assert.rejects(watching, isGone)
  })

  it('goes on when its token is rotated and the old one is no longer accepted', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'kube-client-token-'))
    try {
      const admin = await loadKubeConfig({ path: given.cluster.kubeconfigPath })
      await writeFile(path.join(folder, 'ca.crt'), admin.tls.ca ?? '')
      await given.cluster.kubectl(['create', 'serviceaccount', 'rotating', '-n', namespace])
      await given.cluster.kubectl([
        'create',
        'rolebinding',
        'rotating',
        '-n',
        namespace,
        '--clusterrole=view',
        `--serviceaccount=${namespace}:rotating`,
      ])
      const account = `system:serviceaccount:${namespace}:rotating`
      const reading = { verb: 'get', group: '', resource: 'configmaps', namespace }
      await untilAllowed(given.cluster, account, reading)
      const old = await issueToken(client, 'old')
      await writeFile(path.join(folder, 'token'), old)
      const { hostname, port } = new URL(client.server)
      const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port }
      // A clock that stands still: what is read again is read because of the 401, not because a minute passed.
      const clock = {
        now: () => 0,
        sleep: (ms: number, signal?: AbortSignal) => wait(ms, undefined, { signal }),
      }
      const config = await loadKubeConfig({ env, serviceAccountFolder: folder, clock })
      await using pod = await createKubeClient({ config })
      const podMaps = pod.resource(ConfigMapKind, namespace)
      assert.ok(await podMaps.get(nameOf(0)))

      await writeFile(path.join(folder, 'token'), await issueToken(client, 'new'))
      await given.cluster.kubectl(['delete', 'secret', 'old', '-n', namespace])
      const refused = {
        ...config,
        credentials: async () => ({ headers: { authorization: `Bearer ${old}` } }),
        invalidate: () => undefined,
      }
      await using stale = await createKubeClient({ config: refused })
      await waitUntil(
        async () => {
          const failure = await stale
            .resource(ConfigMapKind, namespace)
            .get(nameOf(0))
            .catch((error: unknown) => error)
          return isUnauthorized(failure)
        },
        { timeoutMs: 60_000, failure: () => new Error('the old token is still accepted') },
      )

      assert.ok(await podMaps.get(nameOf(0)))
      assert.equal((await podMaps.list(mine).toArray()).length, count)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  // Not in a cluster that others use: every backup there would tell that a group cannot be read.
  it('carries on with the other kinds when the server of one group is down', async () => {
    const group = 'down.kube-client-faults.lateen.dev'
    const name = `v1.${group}`
    const services = client.resource(await client.discovery.require('apiservices'))
    await services.create(apiService({ group, name: 'nowhere' }))
    try {
      const isDown = ['wait', '--for=condition=Available=False', `apiservice/${name}`, '--timeout=120s']
      await given.cluster.kubectl(isDown)
      // What is offered is written down apart from what is available.
      await untilSeen('a group that cannot be read', async () => {
        await client.discovery.refresh()
        return (await client.discovery.failures()).length > 0
      })
      assert.ok(await client.discovery.find('configmaps'))
      const failed = (await client.discovery.failures()).map(failure => failure.group)
      assert.deepEqual(failed, [group])
    } finally {
      await services.delete(name)
      await client.discovery.refresh()
    }
  })
})

/** A token of the service account `rotating` that dies with the secret it is bound to. */
async function issueToken(client: KubeClient, secretName: string): Promise<string> {
  const secrets = client.resource(await client.discovery.require('secrets'), namespace)
  const secret = await secrets.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: secretName } })
  const accounts = client.resource(await client.discovery.require('serviceaccounts'), namespace)
  const request: Unstructured = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name: 'rotating' },
    spec: {
      boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: secretName, uid: secret.metadata.uid },
    },
  }
  const { status } = await accounts.create(request, { subresource: 'token' })
  return (status as { token: string }).token
}
