import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import {
  createKubeClient,
  type ExecOptions,
  isForbidden,
  isNotFound,
  type KubeClient,
  type KubeError,
  loadKubeConfig,
  type PodRef,
} from '@lateen/kube'
import { ensureNamespace } from '../../tools/cluster/ensure-namespace.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilAllowed } from '../../tools/cluster/until-allowed.ts'
import { busyboxImageName } from '../../tools/image/busybox-image.ts'

const namespace = 'kube-client-pods'
const pod: PodRef = { namespace, name: 'workload', container: 'main' }
const given = await givenCluster({ node: true })

const manifest = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'workload', namespace },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'main',
        image: busyboxImageName,
        imagePullPolicy: 'Never',
        command: [
          'sh',
          '-c',
          'echo one; echo two; nc -ll -p 8080 -e sh -c "read line; echo got \\$line" & while true; do date; sleep 1; done',
        ],
      },
      {
        name: 'side',
        image: busyboxImageName,
        imagePullPolicy: 'Never',
        command: ['sh', '-c', 'echo from the side; sleep 100000'],
      },
    ],
  },
}

describe('The client and a pod', { skip: given.skip }, () => {
  let client: KubeClient

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    await ensureNamespace(given.cluster, namespace)
    await given.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(manifest) })
    await given.cluster.kubectl([
      'wait',
      '-n',
      namespace,
      '--for=condition=Ready',
      'pod/workload',
      '--timeout=120s',
    ])
  })

  after(async () => {
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
    await client[Symbol.asyncDispose]()
  })

  /** Runs a shell script and collects what it says. */
  async function run(script: string, options: Partial<ExecOptions> = {}) {
    const stdout = new PassThrough()
    const stderr = new PassThrough()
    const collected = Promise.all([text(stdout), text(stderr)])
    const code = await client.exec(pod, { command: ['sh', '-c', script], stdout, stderr, ...options })
    stdout.end()
    stderr.end()
    const [out, err] = await collected
    return { code, out, err }
  }

  it('runs a command and tells its outputs and exit code apart', async () => {
    assert.deepEqual(await run('echo to out; echo to err >&2; exit 42'), {
      code: 42,
      out: 'to out\n',
      err: 'to err\n',
    })
    assert.deepEqual(await run('true'), { code: 0, out: '', err: '' })
  })

  it('passes arguments as they are', async () => {
    const stdout = new PassThrough()
    const said = text(stdout)
    await client.exec(pod, { command: ['printf', '%s|', 'a b', '$HOME', 'é&c=d', ''], stdout })
    stdout.end()
    assert.equal(await said, 'a b|$HOME|é&c=d||')
  })

  it('feeds standard input to the end', async () => {
    const megabyte = Buffer.alloc(1024 * 1024, 'lateen ')
    const stdin = Readable.from([megabyte, megabyte, Buffer.from('the end')])
    assert.equal((await run('wc -c', { stdin })).out.trim(), String(2 * megabyte.length + 7))
  })

  it('brings large outputs unharmed', async () => {
    const { out } = await run('yes 0123456789abcde | head -c 8388608')
    assert.equal(out.length, 8 * 1024 * 1024)
    assert.equal(out, '0123456789abcde\n'.repeat(512 * 1024))
  })

  it('chooses the container that is named', async () => {
    const stdout = new PassThrough()
    const said = text(stdout)
    await client.exec({ ...pod, container: 'side' }, { command: ['cat', '/proc/1/cmdline'], stdout })
    stdout.end()
    assert.match(await said, /100000/)
  })

  it('says so when the command does not exist, the pod does not exist, or a role is missing', async () => {
    const command = ['no-such-program']
    await assert.rejects(client.exec(pod, { command }), (error: KubeError) =>
      /no-such-program/.test(error.message),
    )
    await assert.rejects(client.exec({ ...pod, name: 'nobody' }, { command }), isNotFound)
    const config = await loadKubeConfig({ path: await given.cluster.kubeconfigFor('pod-stranger') })
    await using stranger = await createKubeClient({ config })
    await assert.rejects(stranger.exec(pod, { command }), isForbidden)
  })

  it('ends a running command at once when its signal is aborted', async () => {
    const abort = new AbortController()
    const stdout = new PassThrough()
    const running = client.exec(pod, {
      command: ['sh', '-c', 'echo started; sleep 1000'],
      stdout,
      signal: abort.signal,
    })
    await once(stdout, 'data')
    const reason = new Error('enough')
    abort.abort(reason)
    await assert.rejects(running, reason)
  })

  it('works with a service account token, too', async () => {
    await given.cluster.kubectl(['create', 'serviceaccount', 'runner', '-n', namespace])
    await given.cluster.kubectl([
      'create',
      'rolebinding',
      'runner',
      '-n',
      namespace,
      '--clusterrole=edit',
      `--serviceaccount=${namespace}:runner`,
    ])
    const account = `system:serviceaccount:${namespace}:runner`
    const running = { verb: 'create', group: '', resource: 'pods', subresource: 'exec', namespace }
    await untilAllowed(given.cluster, account, running)
    const token = (await given.cluster.kubectl(['create', 'token', 'runner', '-n', namespace])).trim()
    const { server, tls } = await loadKubeConfig({ path: given.cluster.kubeconfigPath })
    const credentials = async () => ({ headers: { authorization: `Bearer ${token}` } })
    const config = { server, tls: { ca: tls.ca }, origin: 'a test', credentials, invalidate: () => undefined }
    await using runner = await createKubeClient({ config })
    assert.equal(await runner.exec(pod, { command: ['true'] }), 0)
  })

  it('reads logs, and only the lines asked for', async () => {
    assert.match(await text(await client.logs(pod)), /^one\ntwo\n/)
    assert.equal(await text(await client.logs({ ...pod, container: 'side' })), 'from the side\n')
    const last = await text(await client.logs(pod, { tailLines: 1, timestamps: true }))
    assert.match(last, /^\d{4}-\d\d-\d\dT\S+ .*\n$/)
    await assert.rejects(client.logs({ ...pod, name: 'nobody' }), isNotFound)
  })

  it('follows logs as they are written, until it is told to stop', async () => {
    const abort = new AbortController()
    const log = await client.logs(pod, { follow: true, tailLines: 1, signal: abort.signal })
    const reason = new Error('enough')
    let lines = 0
    const reading = async () => {
      for await (const chunk of log) {
        lines += String(chunk).split('\n').length - 1
        if (lines >= 3) abort.abort(reason)
      }
    }
    await assert.rejects(reading, reason)
  })

  it('forwards several connections to a port of the pod', async () => {
    await using forward = await client.portForward(pod, { port: 8080 })
    const ask = async (line: string) => {
      const socket = connect(forward.localPort, '127.0.0.1')
      socket.write(`${line}\n`)
      return await text(socket)
    }
    assert.deepEqual(await Promise.all([ask('a'), ask('b'), ask('c')]), ['got a\n', 'got b\n', 'got c\n'])
  })

  it('closes the local connection when nothing in the pod listens', async () => {
    await using forward = await client.portForward(pod, { port: 9 })
    const socket = connect(forward.localPort, '127.0.0.1')
    assert.equal(await text(socket), '')
  })

  it('stops listening when the forward is disposed of', async () => {
    const forward = await client.portForward(pod, { port: 8080 })
    await forward[Symbol.asyncDispose]()
    const socket = connect(forward.localPort, '127.0.0.1')
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException]
    assert.equal(error.code, 'ECONNREFUSED')
  })
})
