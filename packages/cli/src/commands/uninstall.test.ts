import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { type KubeClient, systemClock } from '@lateen/kube'
import { startLoopbackApi } from '../../../../tools/test/loopback-api.ts'
import type { CommandCall } from '../tree/command.ts'
import type { uninstallFlags } from '../tree/uninstall.ts'
import { run } from './uninstall.ts'

const namespace = '/api/v1/namespaces/n'
const secret = `${namespace}/secrets/velero-repo-credentials`
const claims = `${namespace}/persistentvolumeclaims`
const pods = `${namespace}/pods`
const backups = '/apis/velero.io/v1/namespaces/n/backups'
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

const ours = { metadata: { name: 'n', labels: { component: 'velero' } } }
const password = (text: string) => ({
  metadata: { name: 'velero-repo-credentials' },
  data: { 'repository-password': Buffer.from(text).toString('base64') },
})
const listOf = (...items: object[]) => ({ metadata: { resourceVersion: '1' }, items })
const named = (name: string, more: object = {}) => ({ metadata: { name, namespace: 'n' }, ...more })

/** What an API server has at its paths; a list that is not there is empty. Called for what is asked, it may change it. */
type Held = Map<string, object>

/** Runs the command against these objects, in a namespace of its own that nothing but the label of the namespace makes an installation. */
async function uninstalled(held: Held, { flags = {}, answer = '', asked = () => {} } = {}) {
  await using server = await startLoopbackApi((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://api')
    if (request.method === 'POST') return void response.end(JSON.stringify({ status: { allowed: true } }))
    const empty = pathname.endsWith('s') ? listOf() : undefined
    // No pod has the labels of ours.
    const found = searchParams.has('labelSelector') ? empty : (held.get(pathname) ?? empty)
    if (request.method === 'DELETE') held.delete(pathname)
    if (found === undefined) response.statusCode = 404
    response.end(JSON.stringify(found ?? { kind: 'Status', reason: 'NotFound', code: 404 }))
  })
  const connected: KubeClient = { ...server.client, async [Symbol.asyncDispose]() {} }
  const stderr = new PassThrough()
  const stdin = Readable.from(
    (function* () {
      asked()
      yield answer
    })(),
  )
  const result = run({
    args: [],
    flags,
    surroundings: {
      ...{ stdin, stdout: new PassThrough(), stderr },
      ...{ signal: new AbortController().signal, clock: systemClock },
    },
    settings: async () => ({ namespace: 'n' }),
    connect: async () => connected,
  } as unknown as CommandCall<typeof uninstallFlags>)
  assert.ok(result.show === 'lines')
  const lines: unknown[] = []
  let failure: { code?: string; message: string } | undefined
  try {
    for await (const line of result.lines) lines.push(line)
  } catch (error) {
    failure = error as Error
  }
  const said = lines.filter(line => typeof line === 'string').join('\n')
  return { said, warned: String(stderr.read() ?? ''), failure, isGone: !held.has(namespace) }
}

const savePassword =
  /kubectl -n n get secret velero-repo-credentials -o yaml > velero-repo-credentials\.yaml$/m

describe('uninstall, of a namespace with the password of repositories', () => {
  const own = (): Held =>
    new Map<string, object>([
      [namespace, ours],
      [secret, password('mine')],
    ])

  it('says before it asks what goes and how it is saved, and does nothing after a no', async () => {
    const { said, isGone, failure } = await uninstalled(own(), { answer: 'n\n' })
    assert.match(said, /cannot be read without the password/)
    assert.match(said, savePassword)
    assert.deepEqual([isGone, failure], [false, undefined])
  })

  it('warns even when it does not ask, and says in the end what a new installation needs', async () => {
    const { said, warned, isGone, failure } = await uninstalled(own(), { flags: { force: true } })
    assert.equal(failure, undefined)
    assert.match(warned, savePassword)
    assert.match(said, /uninstalled\..*\n.*kubectl apply -f velero-repo-credentials\.yaml$/)
    assert.ok(isGone)
  })

  it('says nothing of one that everybody knows', async () => {
    const known = own().set(secret, password('static-passw0rd\n'))
    const { said, warned, isGone } = await uninstalled(known, { flags: { force: true } })
    assert.doesNotMatch(said + warned, /password/)
    assert.ok(isGone)
  })

  it('keeps it in a namespace that stays because of a claim, and says how it is saved before that is removed', async () => {
    const { metadata, data } = password('mine')
    const labelled = { metadata: { ...ours.metadata, ...metadata }, data }
    const held = own().set(secret, labelled).set(`${namespace}/secrets`, listOf(labelled))
    held.set(claims, listOf(named('disk')))
    const { said, warned, isGone } = await uninstalled(held, { flags: { force: true } })
    assert.doesNotMatch(warned, /password|velero-repo-credentials/)
    assert.match(said, savePassword)
    assert.ok(said.search(savePassword) < said.indexOf('kubectl delete namespace n'))
    assert.ok(held.has(secret))
    assert.equal(isGone, false)
  })

  it('says nothing of one that everybody knows in a namespace that stays', async () => {
    const held = own().set(secret, password('static-passw0rd'))
    const { said } = await uninstalled(held.set(claims, listOf(named('disk'))), { flags: { force: true } })
    assert.match(said, /^Namespace n stays, .*\nRemove the namespace: kubectl delete namespace n$/m)
    assert.doesNotMatch(said, /password/)
  })
})

describe('uninstall, while the question stands', () => {
  it('refuses after the yes when a backup has begun meanwhile', async () => {
    const held: Held = new Map([[namespace, ours]])
    const running = listOf(named('nightly-1', { status: { phase: 'InProgress' } }))
    const { failure, isGone } = await uninstalled(held, {
      answer: 'y\n',
      asked: () => held.set(backups, running),
    })
    assert.match(failure?.message ?? '', /work is under way: backup nightly-1 \(InProgress\)/)
    assert.equal(isGone, false)
  })
})

describe('uninstall, of a namespace that only the chart has left', () => {
  const left = (): Held =>
    new Map<string, object>([
      [namespace, named('n')],
      [`${definitions}/backups.velero.io`, named('backups.velero.io', ours)],
      [backups, listOf(named('kept', { status: { phase: 'Completed' } }))],
      [pods, listOf(named('done', { status: { phase: 'Succeeded' } }))],
    ])

  it('goes on', async () => {
    const { failure, isGone } = await uninstalled(left(), { flags: { force: true } })
    assert.equal(failure, undefined)
    assert.ok(isGone)
  })

  it('refuses when a pod runs in it, it holds nothing of ours, or the definitions are not ours', async () => {
    const others = [
      left().set(pods, listOf(named('web', { status: { phase: 'Running' } }))),
      left().set(backups, listOf()),
      left().set(`${definitions}/backups.velero.io`, named('backups.velero.io')),
    ]
    for (const held of others) {
      const { failure, isGone } = await uninstalled(held, { flags: { force: true } })
      assert.equal(failure?.code, 'REFUSED')
      assert.match(failure?.message ?? '', /namespace n holds no installation/)
      assert.equal(isGone, false)
    }
  })
})
