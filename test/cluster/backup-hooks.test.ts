import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import type { BackupSpec } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig, systemClock } from '@lateen/kube'
import type { BackupItemAction } from '@lateen/plugin'
import type { BackupPorts } from '../../packages/server/src/backup/backup-request.ts'
import { builtInBackupActions } from '../../packages/server/src/builtin-actions/built-in-backup-actions.ts'
import { ensureNamespace } from '../../tools/cluster/ensure-namespace.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { busyboxImageName } from '../../tools/image/busybox-image.ts'
import { listedAs, type TakeOptions, takeBackup } from './backup-harness.ts'

const given = await givenCluster({ node: true })
const namespace = 'backup-hooks'

/** Notes the moment in the pod, under a word: as the time of a file, because `date` of busybox knows no parts of a second. */
const note = (word: string) => ['sh', '-c', `mkdir -p /tmp/notes && touch /tmp/notes/${word}`]

const annotations = (phase: 'pre' | 'post', hook: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(hook).map(([key, value]) => [`${phase}.hook.backup.velero.io/${key}`, value]),
  )

interface PodOptions {
  annotations?: Record<string, string>
  labels?: Record<string, string>
  claim?: string
  command?: string[]
  restartPolicy?: string
}

function pod(name: string, options: PodOptions = {}): object {
  const { claim, command, restartPolicy = 'Always', ...metadata } = options
  const container = (each: string) => ({
    name: each,
    image: busyboxImageName,
    imagePullPolicy: 'Never',
    ...(command && { command }),
    ...(claim && { volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
  })
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, ...metadata },
    spec: {
      terminationGracePeriodSeconds: 0,
      restartPolicy,
      automountServiceAccountToken: false,
      containers: [container('main'), container('side')],
      ...(claim && { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }] }),
    },
  }
}

const command = (...args: string[]) => JSON.stringify(args)

const objects = [
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'hooks-shared' },
    spec: {
      accessModes: ['ReadWriteMany'],
      capacity: { storage: '1Mi' },
      storageClassName: 'by-hand',
      hostPath: { path: '/tmp/hooks-shared', type: 'DirectoryOrCreate' },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'shared', namespace },
    spec: {
      accessModes: ['ReadWriteMany'],
      storageClassName: 'by-hand',
      volumeName: 'hooks-shared',
      resources: { requests: { storage: '1Mi' } },
    },
  },
  pod('first', { labels: { app: 'block' }, claim: 'shared' }),
  pod('second', {
    labels: { app: 'block' },
    claim: 'shared',
    annotations: {
      ...annotations('pre', { command: command(...note('pre')), container: 'main' }),
      ...annotations('post', { command: command(...note('post')), container: 'main' }),
    },
  }),
  pod('hangs', {
    annotations: {
      ...annotations('pre', { command: command('sleep', '1000'), timeout: '1s', 'on-error': 'Fail' }),
      ...annotations('post', { command: command(...note('post')) }),
    },
  }),
  pod('fails', { annotations: annotations('pre', { command: command('sh', '-c', 'echo no >&2; exit 3') }) }),
  pod('goes-on', {
    annotations: annotations('pre', { command: '/bin/false', 'on-error': 'Continue' }),
  }),
  pod('no-container', {
    annotations: {
      ...annotations('pre', { command: command(...note('pre')), container: 'nobody', 'on-error': 'Fail' }),
      ...annotations('post', { command: command(...note('post')) }),
    },
  }),
  pod('ended', {
    restartPolicy: 'Never',
    command: ['true'],
    annotations: annotations('pre', { command: '/bin/false', 'on-error': 'Fail' }),
  }),
]

describe('hooks of a backup', { skip: given.skip }, () => {
  let client: KubeClient
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    await ensureNamespace(given.cluster, namespace)
    const list = { apiVersion: 'v1', kind: 'List', items: objects }
    await kubectl(['create', '-f', '-'], { stdin: JSON.stringify(list) })
    const ready = ['first', 'second', 'hangs', 'fails', 'goes-on', 'no-container'].map(name => `pod/${name}`)
    await kubectl(['wait', '-n', namespace, '--for=condition=Ready', ...ready, '--timeout=180s'])
    const succeeded = '--for=jsonpath={.status.phase}=Succeeded'
    await kubectl(['wait', '-n', namespace, succeeded, 'pod/ended', '--timeout=60s'])
  })

  after(async () => {
    await kubectl(['delete', 'namespace', namespace, '--wait=false'])
    await client[Symbol.asyncDispose]()
  })

  /** The moments noted in a pod, by word; and forgets them. Text that sorts like time. */
  async function notes(name: string): Promise<Map<string, string>> {
    const stdout = new PassThrough()
    const said = text(stdout)
    const read = ['sh', '-c', 'cd /tmp/notes 2>/dev/null && stat -c "%n %y" *; rm -rf /tmp/notes']
    await client.exec({ namespace, name, container: 'main' }, { command: read, stdout })
    stdout.end()
    const lines = (await said).trim().split('\n').filter(Boolean)
    return new Map(lines.map(line => [line.split(' ')[0] ?? '', line.slice(line.indexOf(' '))]))
  }

  /** An action that notes the moment in a pod, as if it stored the item's data. */
  function noting(resource: string, inPod: string, word: string): BackupItemAction {
    return {
      appliesTo: async () => ({ includedResources: [resource] }),
      async execute({ item }) {
        await client.exec({ namespace, name: inPod, container: 'main' }, { command: note(word) })
        return { item, unchanged: true }
      },
    }
  }

  function take(spec: BackupSpec, ports: Partial<BackupPorts> = {}, options: Partial<TakeOptions> = {}) {
    const all = { client, spec: { includedNamespaces: [namespace], ...spec }, ports, ...options }
    return takeBackup(all, async taken => taken)
  }

  const blockHooks = {
    resources: [
      {
        name: 'freeze',
        includedNamespaces: ['backup-*'],
        labelSelector: { matchLabels: { app: 'block' } },
        pre: [{ exec: { command: note('pre') } }, { exec: { command: note('pre2'), container: 'main' } }],
        post: [{ exec: { command: note('post') } }],
      },
    ],
  }

  it('run before and after the whole block, which pods of one claim share', async () => {
    const builtIn = builtInBackupActions({ client })
    const backupItemActions = [
      ...builtIn.backupItemActions,
      { name: 'test/claim', action: noting('persistentvolumeclaims', 'first', 'claim') },
      { name: 'test/volume', action: noting('persistentvolumes', 'second', 'volume') },
    ]
    const spec = { labelSelector: { matchLabels: { app: 'block' } }, hooks: blockHooks }
    const { outcome, results } = await take(spec, { backupItemActions }, { workers: 4 })
    assert.deepEqual(results.errors, {})
    const first = await notes('first')
    const second = await notes('second')
    const moment = (notesOf: Map<string, string>, word: string) => {
      const noted = notesOf.get(word)
      assert.ok(noted !== undefined, `${word} was noted`)
      return noted
    }
    const pres = [moment(first, 'pre'), moment(first, 'pre2'), moment(second, 'pre')]
    const middle = [moment(first, 'claim'), moment(second, 'volume')]
    const posts = [moment(first, 'post'), moment(second, 'post')]
    assert.ok(pres[0]! < pres[1]!, 'hooks of a pod run in order')
    for (const pre of pres) for (const item of middle) assert.ok(pre < item, 'pre hooks go before all items')
    for (const item of middle)
      for (const post of posts) assert.ok(item < post, 'post hooks go after all items')
    assert.equal(second.has('pre2'), false, 'annotations take the place of the spec')
    // first: two pre, one post; second: one each from its annotations.
    assert.deepEqual(outcome.hookStatus, { hooksAttempted: 5, hooksFailed: 0 })
  })

  it('run after an item of the block failed, too', async () => {
    const builtIn = builtInBackupActions({ client })
    const failing: BackupItemAction = {
      appliesTo: async () => ({ includedResources: ['pvc'] }),
      execute: () => Promise.reject(new Error('no snapshot today')),
    }
    const spec = { labelSelector: { matchLabels: { app: 'block' } }, hooks: blockHooks }
    const { results } = await take(spec, {
      backupItemActions: [...builtIn.backupItemActions, { name: 'test/failing', action: failing }],
    })
    assert.match(JSON.stringify(results.errors), /no snapshot today/)
    assert.ok((await notes('first')).has('post'))
    assert.ok((await notes('second')).has('post'))
  })

  it('thaw what they froze when the backup is cancelled in between', async () => {
    const cancel = new AbortController()
    const reason = new Error('enough')
    const builtIn = builtInBackupActions({ client })
    const cancelling: BackupItemAction = {
      appliesTo: async () => ({ includedResources: ['pvc'] }),
      async execute({ item }) {
        cancel.abort(reason)
        return { item }
      },
    }
    const spec = { labelSelector: { matchLabels: { app: 'block' } }, hooks: blockHooks }
    const backupItemActions = [...builtIn.backupItemActions, { name: 'test/cancel', action: cancelling }]
    await assert.rejects(take(spec, { backupItemActions }, { signal: cancel.signal }), reason)
    assert.ok((await notes('first')).has('post'))
    assert.ok((await notes('second')).has('post'))
  })

  it('that hang, fail, or name no container of the pod keep it out only where they say so', async () => {
    const { outcome, paths, results, log } = await take({})
    const has = (name: string) => paths.includes(`resources/pods/namespaces/${namespace}/${name}.json`)
    const errors = (name: string) =>
      (results.errors.namespaces?.[namespace] ?? []).filter(line => line.includes(`name: /${name} `))
    assert.equal(has('hangs'), false)
    assert.match(errors('hangs').join(), /timed out after 1s/)
    assert.equal(has('fails'), true)
    assert.match(errors('fails').join(), /exit code 3: no/)
    assert.equal(has('goes-on'), true)
    assert.match(errors('goes-on').join(), /exit code 1/)
    assert.equal(has('no-container'), false)
    assert.match(errors('no-container').join(), /no container "nobody"/)
    assert.equal(has('ended'), true)
    assert.deepEqual(errors('ended'), [])
    assert.match(log, /The hook is not run: the pod has ended/)
    assert.ok((await notes('hangs')).has('post'), 'a hook that began is followed by its post hooks')
    assert.equal((await notes('no-container')).size, 0, 'a hook that never began is not')
    // second: pre and post; hangs: both; fails, goes-on, ended: pre; no-container: pre, its post was not due.
    assert.deepEqual(outcome.hookStatus, { hooksAttempted: 8, hooksFailed: 4 })
    const unstored = ['hangs', 'no-container'].filter(name =>
      listedAs('v1/Pod', outcome).includes(`${namespace}/${name}`),
    )
    assert.deepEqual(unstored, [])
    await notes('second')
  })

  it('of a pod that is gone by then fail without an attempt', async () => {
    await kubectl(['create', '-f', '-'], {
      stdin: JSON.stringify(
        pod('short-lived', {
          labels: { app: 'gone' },
          annotations: annotations('pre', { command: '/bin/true', 'on-error': 'Continue' }),
        }),
      ),
    })
    const builtIn = builtInBackupActions({ client })
    const deleting = {
      name: 'test/delete',
      action: {
        appliesTo: async () => ({ includedResources: ['pods'] }),
        async getRelatedItems() {
          await kubectl(['delete', 'pod', 'short-lived', '-n', namespace, '--force', '--wait=true'])
          return []
        },
      },
    }
    const { results } = await take(
      { labelSelector: { matchLabels: { app: 'gone' } } },
      { itemBlockActions: [...builtIn.itemBlockActions, deleting] },
      { clock: systemClock },
    )
    assert.match(JSON.stringify(results.errors.namespaces), /short-lived.*no longer exists/)
  })
})
