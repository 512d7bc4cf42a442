import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { type Restore, RestoreKind, type RestoreSpec } from '@lateen/api'
import { ensureNamespace } from '../../tools/cluster/ensure-namespace.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { openServerScene } from './backup-server-scene.ts'
import type { Stored } from './restore-harness.ts'
import {
  annotated,
  container,
  type HooksScene,
  hooksNamespace,
  openHooksScene,
  pod,
  probe,
  touch,
} from './restore-hooks-scene.ts'

const given = await givenCluster({ node: true, s3: true })
const never = new AbortController().signal

/** On no node. */
const homeless = { spec: { nodeSelector: { 'no-such': 'node' } } }

/** Hooks for the pod of that name. */
const hooksFor = (app: string, ...postHooks: object[]) => ({
  name: `for-${app}`,
  labelSelector: { matchLabels: { app } },
  postHooks,
})

const exec = (command: string[], more: object = {}) => ({ exec: { command, ...more } })
const mounts = { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] }

/** Pods whose hooks go well and badly in all ways. */
const variety: { pods: Stored[]; spec: RestoreSpec } = {
  pods: [
    pod('annotated', { annotations: annotated({ command: JSON.stringify(touch('mine')) }) }),
    pod('prepared', { main: mounts, spec: { volumes: [{ name: 'shared', emptyDir: {} }] } }),
    pod('fails'),
    pod('homeless', homeless),
    pod('ends', {
      spec: {
        restartPolicy: 'Never',
        containers: [container('main', { command: ['sleep', '2'], ...probe('false') })],
      },
    }),
    pod('ready', {
      main: {
        command: ['sh', '-c', 'sleep 2; touch /tmp/ready; sleep 3600'],
        ...probe('test', '-f', '/tmp/ready'),
      },
    }),
    pod('hangs'),
    pod('no-container'),
  ],
  spec: {
    hooks: {
      resources: [
        hooksFor('annotated', exec(touch('from-spec'))),
        hooksFor(
          'prepared',
          {
            init: {
              initContainers: [container('prepare', { command: ['touch', '/shared/prepared'], ...mounts })],
            },
          },
          exec(['test', '-f', '/shared/prepared']),
          exec(touch('side'), { container: 'side' }),
        ),
        hooksFor(
          'fails',
          exec(['false'], { onError: 'Continue' }),
          exec(['sh', '-c', 'echo no >&2; exit 3'], { onError: 'Fail' }),
          exec(touch('never')),
        ),
        hooksFor('homeless', exec(touch('never'), { waitTimeout: '1s' })),
        hooksFor('ends', exec(touch('never'), { waitForReady: true })),
        hooksFor('ready', exec(['test', '-f', '/tmp/ready'], { waitForReady: true })),
        hooksFor('hangs', exec(['sleep', '60'], { execTimeout: '1s' })),
        hooksFor('no-container', exec(touch('never'), { container: 'nobody' })),
      ],
    },
  },
}

describe('restore hooks', { skip: given.skip }, () => {
  let place: HooksScene
  const kubectl = (args: string[]) => given.cluster.kubectl(args)

  before(async () => {
    place = await openHooksScene(given.cluster)
  })
  after(() => place?.[Symbol.asyncDispose]())

  it('run in the pods once these are up, and each failure is told', async () => {
    await using hooks = place.hooksOf(variety.spec, never)
    await place.restorePods(hooks, variety.spec, variety.pods)
    const { results, errors, warnings, hookStatus } = await hooks.finish(120_000)
    const told = (results.errors.namespaces?.[hooksNamespace] ?? []).sort()
    const expected = [
      /hook for-ends in container main in pod restore-hooks\/ends not executed: the pod entered phase Succeeded/,
      /hook for-fails .* failed to execute: .*exit code 1/,
      /hook for-fails .* failed to execute: .*exit code 3: no/,
      /hook for-fails .* not executed: hook for-fails failed, and its onError is Fail/,
      /hook for-hangs .* failed to execute: .*timed out after 1s/,
      /hook for-homeless .* not executed: the container was not up within 1s/,
    ]
    assert.equal(told.length, expected.length, told.join('\n'))
    for (const [index, pattern] of expected.entries()) assert.match(told[index] ?? '', pattern)
    assert.match(results.warnings.namespaces?.[hooksNamespace]?.[0] ?? '', /no container "nobody"/)
    assert.deepEqual([errors, warnings], [6, 1])
    // annotated 1, prepared 2, fails 3, homeless, ends, ready and hangs 1 each; the one without a container does not count.
    assert.deepEqual(hookStatus, { hooksAttempted: 10, hooksFailed: 6 })
    assert.equal(await place.has('annotated', 'mine'), true)
    assert.equal(await place.has('annotated', 'from-spec'), false, 'annotations take the place of the spec')
    assert.equal(await place.has('fails', 'never'), false)
    const side = { namespace: hooksNamespace, name: 'prepared', container: 'side' }
    assert.equal(await place.client.exec(side, { command: ['test', '-f', '/tmp/side'] }), 0)
  })

  it('that are not done when the restore waits no longer have failed', async () => {
    const annotations = annotated({ command: 'true' })
    await using hooks = place.hooksOf({}, never)
    await place.restorePods(hooks, {}, [pod('forever', { annotations, ...homeless })])
    const { results, hookStatus } = await hooks.finish(500)
    assert.match(
      results.errors.namespaces?.[hooksNamespace]?.[0] ?? '',
      /not executed: the restore waits 500ms for its hooks, and no longer/,
    )
    assert.deepEqual(hookStatus, { hooksAttempted: 1, hooksFailed: 1 })
  })

  it('run although many pods never start, one of which is deleted', async () => {
    const annotations = annotated({ command: JSON.stringify(touch('turn')) })
    await using hooks = place.hooksOf({}, never, 1)
    const idle = Array.from({ length: 200 }, (_, index) => pod(`a-${index}`, { annotations, ...homeless }))
    await place.restorePods(hooks, {}, [...idle, pod('b-next', { annotations })])
    await waitUntil(async () => (await place.has('b-next', 'turn').catch(() => false)) || undefined, {
      timeoutMs: 120_000,
      failure: () => new Error('the hook of b-next does not run'),
      everyMs: 200,
    })
    await kubectl(['delete', 'pod', 'a-7', '-n', hooksNamespace, '--force', '--wait=true'])
    // Long enough for the news of the deletion.
    const { results, hookStatus } = await hooks.finish(10_000)
    const told = results.errors.namespaces?.[hooksNamespace] ?? []
    assert.match(told.join('\n'), /a-7 not executed: the pod was deleted/)
    assert.equal(told.filter(text => text.includes('and no longer')).length, 199)
    assert.deepEqual(hookStatus, { hooksAttempted: 201, hooksFailed: 200 })
  })

  it('end with the restore that is stopped', async () => {
    const stop = new AbortController()
    const reason = new Error('enough')
    await using hooks = place.hooksOf({}, stop.signal)
    await place.restorePods(hooks, {}, [
      pod('stopped', { annotations: annotated({ command: 'true' }), ...homeless }),
    ])
    stop.abort(reason)
    await assert.rejects(hooks.finish(60_000), reason)
  })

  it('of a Restore are waited for by the server, which counts them and tells their failures', async () => {
    await using scene = await openServerScene(given.cluster, 'restore-hooks-server')
    await ensureNamespace(given.cluster, scene.data)
    await scene.start()
    const made = pod('web')
    made.metadata.namespace = scene.data
    await place.client
      .resource({ group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }, scene.data)
      .create(made)
    const backup = await scene.backups.take('one', { includedNamespaces: [scene.data] })
    assert.equal(backup.status?.phase, 'Completed')
    await kubectl(['delete', 'pod', 'web', '-n', scene.data, '--force', '--wait=true'])
    const init = container('first', { command: ['true'] })
    const postHooks = [
      { init: { initContainers: [init] } },
      { exec: { command: touch('done') } },
      { exec: { command: ['false'] } },
    ]
    const restores = place.client.resource(RestoreKind, scene.namespace)
    const spec = { backupName: 'one', hooks: { resources: [hooksFor('web', ...postHooks)] } }
    const metadata = { name: 'again', namespace: scene.namespace }
    await restores.create({ apiVersion: 'velero.io/v1', kind: 'Restore', metadata, spec })
    let last: Restore | undefined
    const { status } = await waitUntil(
      async () => {
        last = await restores.get('again')
        return last.status?.completionTimestamp ? last : undefined
      },
      {
        timeoutMs: 120_000,
        everyMs: 200,
        failure: () => new Error(`stayed at ${JSON.stringify(last?.status)}`),
      },
    )
    assert.equal(status?.phase, 'PartiallyFailed', JSON.stringify(status))
    assert.deepEqual(status?.hookStatus, { hooksAttempted: 2, hooksFailed: 1 })
    assert.equal(status?.errors, 1)
    const file = await scene.bucket.read('restores/again/restore-again-results.gz')
    const { errors } = JSON.parse(gunzipSync(file).toString())
    assert.match(errors.namespaces[scene.data].join(), /hook for-web in container main .* failed to execute/)
    const web = { namespace: scene.data, name: 'web', container: 'main' }
    assert.equal(await place.client.exec(web, { command: ['test', '-f', '/tmp/done'] }), 0)
    const inits = '{.spec.initContainers[*].name}'
    assert.equal(await kubectl(['get', 'pod', 'web', '-n', scene.data, '-o', `jsonpath=${inits}`]), 'first')
  })
})
