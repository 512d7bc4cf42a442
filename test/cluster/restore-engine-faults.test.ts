import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it } from 'node:test'
import { createKubeClient, KubeError, loadKubeConfig, silentLogger, systemClock } from '@lateen/kube'
import { createClusterSink } from '../../packages/server/src/restore/sink/cluster-sink.ts'
import { RequestGate } from '../../packages/server/src/restore/sink/request-gate.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { type Misbehaviour, startMisbehavingProxy } from './misbehaving-proxy.ts'
import { archiveOf, restoreArchive } from './restore-harness.ts'

const given = await givenCluster({ own: true })

function configMaps(namespace: string, count: number) {
  return Array.from({ length: count }, (_, index) => ({
    plural: 'configmaps',
    object: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace, name: `cm-${index}` },
      data: { index: `${index}` },
    },
  }))
}

/** The API server without TLS and without asking who calls. */
async function startPlainApi(): Promise<AsyncDisposable & { url: string }> {
  const args = ['--kubeconfig', given.cluster.kubeconfigPath, 'proxy', '--port=0']
  const child = spawn(await tool('kubectl'), args, { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface(child.stdout)) {
    const [, address] = /Starting to serve on (\S+)/.exec(line) ?? []
    if (address === undefined) continue
    return { url: `http://${address}`, [Symbol.asyncDispose]: async () => void child.kill() }
  }
  throw new Error('kubectl proxy did not start')
}

async function clientFor(server: string) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'lateen-faults-'))
  const file = path.join(folder, 'config')
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: {} }],
  }
  await writeFile(file, JSON.stringify(config))
  try {
    return await createKubeClient({ config: await loadKubeConfig({ path: file }), retry: { attempts: 1 } })
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function clusterClient(attempts = 8) {
  const config = await loadKubeConfig({ path: given.cluster.kubeconfigPath })
  return createKubeClient({ config, retry: { attempts } })
}

describe('The restore engine, when things go wrong', { skip: given.skip }, () => {
  it('creates every object once, though answers get lost, connections break and the server refuses', async () => {
    await using api = await startPlainApi()
    const plan: (Misbehaviour | undefined)[] = [
      undefined,
      'lost-answer',
      undefined,
      'too-many',
      'reset',
      'cut-body',
    ]
    let number = 0
    await using proxy = await startMisbehavingProxy(api.url, ({ method }) =>
      method === 'POST' ? plan[number++ % plan.length] : undefined,
    )
    await using client = await clientFor(proxy.endpoint)
    const { outcome, items } = await restoreArchive({
      client,
      archive: archiveOf(...configMaps('faults', 60)),
    })
    assert.deepEqual(outcome.results, { errors: {}, warnings: {} })
    assert.deepEqual(new Set([...items.values()].map(({ action }) => action)), new Set(['created']))
    assert.equal(items.size, 61)
    assert.ok((proxy.happened.get('lost-answer') ?? 0) > 10)
    const names = await given.cluster.kubectl(['get', 'cm', '-n', 'faults', '-o', 'name'])
    assert.equal(names.match(/cm-\d+/g)?.length, 60)
  })

  it('sends one request for each object that is not there, and few where many are', async () => {
    await using api = await startPlainApi()
    const sent = new Map<string, number>()
    await using proxy = await startMisbehavingProxy(api.url, ({ method = '', url = '' }) => {
      if (url.includes('/configmaps')) sent.set(method, (sent.get(method) ?? 0) + 1)
      return undefined
    })
    await using client = await clientFor(proxy.endpoint)
    const archive = archiveOf(...configMaps('requests', 60))
    await restoreArchive({ client, archive })
    assert.deepEqual(Object.fromEntries(sent), { POST: 60 })
    sent.clear()
    const { items } = await restoreArchive({ client, archive, name: 'second' })
    assert.equal(items.size, 60)
    const all = [...sent.values()].reduce((sum, count) => sum + count, 0)
    assert.ok(all < 30, JSON.stringify(Object.fromEntries(sent)))
  })

  it('ends at once when it is stopped', async () => {
    await using client = await clusterClient()
    const stop = new AbortController()
    let done = 0
    const onItem = () => {
      done += 1
      if (done === 20) stop.abort(new Error('the server is stopping'))
    }
    const archive = archiveOf(...configMaps('stopped', 200))
    const restoring = restoreArchive({ client, archive, ports: { onItem }, signal: stop.signal })
    await assert.rejects(restoring, /the server is stopping/)
    assert.ok(done < 200)
  })

  it('goes on when the API server was away in the middle', async () => {
    await using client = await clusterClient()
    let away: Promise<void> | undefined
    let done = 0
    const restart = async () => {
      await given.cluster.kill('kube-apiserver')
      await given.cluster.start('kube-apiserver')
    }
    const { outcome, items } = await restoreArchive({
      client,
      archive: archiveOf(...configMaps('away', 300)),
      ports: {
        onItem() {
          done += 1
          if (done === 50) away = restart()
        },
      },
    })
    await away
    assert.deepEqual(outcome.results, { errors: {}, warnings: {} })
    assert.deepEqual(new Set([...items.values()].map(({ action }) => action)), new Set(['created']))
    assert.equal(items.size, 301)
  })

  it('ends when the API server stays away, and does not try every object that is left', async () => {
    await using client = await clusterClient(1)
    const clock = systemClock
    const gate = new RequestGate({ clock, most: 4 })
    const sink = createClusterSink({ client, gate, clock, log: silentLogger, patienceMs: 1_500 })
    let gone: Promise<void> | undefined
    let done = 0
    // So many that they are not all restored before a busy machine has killed the API server.
    const restoring = restoreArchive({
      client,
      archive: archiveOf(...configMaps('gone', 3_000)),
      ports: {
        sink,
        onItem() {
          done += 1
          if (done === 20) gone = given.cluster.kill('kube-apiserver')
        },
      },
    })
    await assert.rejects(restoring, error => error instanceof KubeError && error.retryable)
    await gone
    assert.ok(done < 3_001)
    await given.cluster.start('kube-apiserver')
  })
})
