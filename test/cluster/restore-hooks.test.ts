import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { type Restore, RestoreKind, type RestoreSpec } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig, silentLogger, systemClock } from '@lateen/kube'
import { builtInRestoreActions } from '../../packages/server/src/builtin-actions/restore/built-in-restore-actions.ts'
import { initRestoreHookAction } from '../../packages/server/src/builtin-actions/restore/init-restore-hook-action.ts'
import { RestoreExecHooks } from '../../packages/server/src/restore/hooks/restore-exec-hooks.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { busyboxImageName } from '../../tools/image/busybox-image.ts'
import { openServerScene } from './backup-server-scene.ts'
import { archiveOf, handsOn, restoreArchive, type Stored, stored } from './restore-harness.ts'

const given = await givenCluster({ node: true, s3: true })
const namespace = 'restore-hooks'
const never = new AbortController().signal

const container = (name: string, fields: object = {}) => ({
  name,
  image: busyboxImageName,
  imagePullPolicy: 'Never',
  ...fields,
})

interface PodFields {
  annotations?: Record<string, string>
  spec?: object
  main?: object
}

function pod(name: string, { annotations = {}, spec = {}, main = {} }: PodFields = {}): Stored {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { app: name }, annotations },
    spec: {
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      containers: [container('main', main), container('side')],
      ...spec,
    },
  }
}

/** On no node. */
const homeless = { spec: { nodeSelector: { 'no-such': 'node' } } }

const annotated = (hook: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(hook).map(([key, value]) => [`post.hook.restore.velero.io/${key}`, value]),
  )

const touch = (word: string) => ['touch', `/tmp/${word}`]

/** Hooks for the pod of that name. */
const hooksFor = (app: string, ...postHooks: object[]) => ({
  name: `for-${app}`,
  labelSelector: { matchLabels: { app } },
  postHooks,
})

const exec = (command: string[], more: object = {}) => ({ exec: { command, ...more } })
const probe = (...command: string[]) => ({ readinessProbe: { exec: { command }, periodSeconds: 1 } })
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
  let client: KubeClient
  const kubectl = (args: string[]) => given.cluster.kubectl(args)

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    await handsOn(given.cluster).createForPods({ name: namespace })
  })

  after(async () => {
    await kubectl(['delete', 'namespace', namespace, '--wait=false', '--ignore-not-found'])
    await client[Symbol.asyncDispose]()
  })

  function hooksOf(spec: RestoreSpec, signal: AbortSignal, mostCommands = 10): RestoreExecHooks {
    const restore: Restore = { apiVersion: 'velero.io/v1', kind: 'Restore', metadata: { name: 'r' }, spec }
    const options = { client, clock: systemClock, log: silentLogger, restore, mostCommands }
    return new RestoreExecHooks(options, signal)
  }

  /** Restores pods; their hooks go on. */
  async function restorePods(hooks: RestoreExecHooks, spec: RestoreSpec, pods: readonly Stored[]) {
    const others = [initRestoreHookAction({ newUid: randomUUID })]
    const actions = builtInRestoreActions({ client, namespace: 'velero', others })
    const ports = { actions, onPodRestored: hooks.begin.bind(hooks) }
    const { outcome } = await restoreArchive({ client, archive: archiveOf(...pods.map(stored)), spec, ports })
    assert.deepEqual(outcome.results.errors, {})
  }

  const run = (name: string, ...command: string[]) =>
    client.exec({ namespace, name, container: 'main' }, { command })

  const has = async (name: string, word: string) => (await run(name, 'test', '-f', `/tmp/${word}`)) === 0

  it('run in the pods once these are up, and each failure is told', async () => {
    await using hooks = hooksOf(variety.spec, never)
    await restorePods(hooks, variety.spec, variety.pods)
    const { results, errors, warnings, hookStatus } = await hooks.finish(120_000)
    const told = (results.errors.namespaces?.[namespace] ?? []).sort()
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
    assert.match(results.warnings.namespaces?.[namespace]?.[0] ?? '', /no container "nobody"/)
    assert.deepEqual([errors, warnings], [6, 1])
    // annotated 1, prepared 2, fails 3, homeless, ends, ready and hangs 1 each; the one without a container does not count.
    assert.deepEqual(hookStatus, { hooksAttempted: 10, hooksFailed: 6 })
    assert.equal(await has('annotated', 'mine'), true)
    assert.equal(await has('annotated', 'from-spec'), false, 'annotations take the place of the spec')
    assert.equal(await has('fails', 'never'), false)
    const side = { namespace, name: 'prepared', container: 'side' }
    assert.equal(await client.exec(side, { command: ['test', '-f', '/tmp/side'] }), 0)
  })

  it('that are not done when the restore waits no longer have failed', async () => {
    const annotations = annotated({ command: 'true' })
    await using hooks = hooksOf({}, never)
    await restorePods(hooks, {}, [pod('forever', { annotations, ...homeless })])
    const { results, hookStatus } = await hooks.finish(500)
    assert.match(
      results.errors.namespaces?.[namespace]?.[0] ?? '',
      /not executed: the restore waits 500ms for its hooks, and no longer/,
    )
    assert.deepEqual(hookStatus, { hooksAttempted: 1, hooksFailed: 1 })
  })

  it('run although many pods never start, one of which is deleted', async () => {
    const annotations = annotated({ command: JSON.stringify(touch('turn')) })
    await using hooks = hooksOf({}, never, 1)
    const idle = Array.from({ length: 200 }, (_, index) => pod(`a-${index}`, { annotations, ...homeless }))
    await restorePods(hooks, {}, [...idle, pod('b-next', { annotations })])
    await waitUntil(async () => (await has('b-next', 'turn').catch(() => false)) || undefined, {
      timeoutMs: 120_000,
      failure: () => new Error('the hook of b-next does not run'),
      everyMs: 200,
    })
    await kubectl(['delete', 'pod', 'a-7', '-n', namespace, '--force', '--wait=true'])
    // Long enough for the news of the deletion.
    const { results, hookStatus } = await hooks.finish(10_000)
    const told = results.errors.namespaces?.[namespace] ?? []
    assert.match(told.join('\n'), /a-7 not executed: the pod was deleted/)
    assert.equal(told.filter(text => text.includes('and no longer')).length, 199)
    assert.deepEqual(hookStatus, { hooksAttempted: 201, hooksFailed: 200 })
  })

  it('run although the API server was restarted while they waited', async () => {
    const annotations = annotated({ command: JSON.stringify(touch('late')), 'wait-for-ready': 'true' })
    await using hooks = hooksOf({}, never)
    await restorePods(hooks, {}, [pod('patient', { annotations, main: probe('test', '-f', '/tmp/go') })])
    const running = '--for=jsonpath={.status.phase}=Running'
    await kubectl(['wait', '-n', namespace, running, 'pod/patient', '--timeout=180s'])
    await given.cluster.kill('kube-apiserver')
    await given.cluster.start('kube-apiserver')
    assert.equal(await has('patient', 'late'), false)
    await run('patient', ...touch('go'))
    const { results, hookStatus } = await hooks.finish(120_000)
    assert.deepEqual(results.errors, {})
    assert.deepEqual(hookStatus, { hooksAttempted: 1, hooksFailed: 0 })
    assert.equal(await has('patient', 'late'), true)
  })

  it('end with the restore that is stopped', async () => {
    const stop = new AbortController()
    const reason = new Error('enough')
    await using hooks = hooksOf({}, stop.signal)
    await restorePods(hooks, {}, [
      pod('stopped', { annotations: annotated({ command: 'true' }), ...homeless }),
    ])
    stop.abort(reason)
    await assert.rejects(hooks.finish(60_000), reason)
  })

  it('of a Restore are waited for by the server, which counts them and tells their failures', async () => {
    await using scene = await openServerScene(given.cluster, 'restore-hooks-server')
    await scene.start()
    const made = pod('web')
    made.metadata.namespace = scene.data
    await client
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
    const restores = client.resource(RestoreKind, scene.namespace)
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
    assert.equal(await client.exec(web, { command: ['test', '-f', '/tmp/done'] }), 0)
    const inits = '{.spec.initContainers[*].name}'
    assert.equal(await kubectl(['get', 'pod', 'web', '-n', scene.data, '-o', `jsonpath=${inits}`]), 'first')
  })
})
