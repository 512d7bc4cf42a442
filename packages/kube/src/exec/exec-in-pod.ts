import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import type { ExecOptions, PodRef } from '../client.ts'
import { KubeError } from '../errors.ts'
import type { Api } from '../http/api.ts'
import { describeSubject } from '../http/kube-request.ts'
import { type ChannelSocket, openChannelSocket } from './channel-socket.ts'
import { type ExecStatus, exitCodeOf } from './exec-status.ts'

const channel = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 } as const

/** Only version 5 can say that standard input has ended. */
const withStdinEnd = 'v5.channel.k8s.io'
const protocols = [withStdinEnd, 'v4.channel.k8s.io']

/** Runs a command in a container; see `KubeClient.exec`. */
export async function execInPod(api: Api, pod: PodRef, options: ExecOptions): Promise<number> {
  const { namespace, name } = pod
  // A WebSocket begins with a GET, and that is the verb the server looks for in roles.
  const subject = { verb: 'get', resource: 'pods/exec', namespace, name }
  const { signal } = options
  const socket = await openChannelSocket(api, { path: execPath(pod, options), subject, protocols, signal })
  const input = options.stdin === undefined ? undefined : sendInput(socket, options.stdin)
  input?.catch(() => socket.close())
  try {
    const status = await readOutput(socket, options)
    if (status !== undefined) return exitCodeOf(status, describeSubject(subject))
    throw new KubeError('StreamFailed', {
      message: `cannot ${describeSubject(subject)}: the stream ended without the command's exit code`,
      hint: 'the pod or its node went away while the command ran: check the pod and try again',
      mayHaveActed: true,
    })
  } finally {
    socket.close()
  }
}

function execPath(pod: PodRef, { command, stdin, stdout, stderr }: ExecOptions): string {
  const query = new URLSearchParams()
  for (const argument of command) query.append('command', argument)
  if (pod.container !== undefined) query.set('container', pod.container)
  if (stdin !== undefined) query.set('stdin', 'true')
  if (stdout !== undefined) query.set('stdout', 'true')
  // A command without any stream is refused, so one is opened and what it says is dropped.
  if (stderr !== undefined || (stdin === undefined && stdout === undefined)) query.set('stderr', 'true')
  const place = `/api/v1/namespaces/${encodeURIComponent(pod.namespace)}/pods/${encodeURIComponent(pod.name)}`
  return `${place}/exec?${query}`
}

async function sendInput(socket: ChannelSocket, stdin: Readable): Promise<void> {
  for await (const chunk of stdin) {
    await socket.send({ channel: channel.stdin, data: Buffer.from(chunk) })
  }
  if (socket.protocol === withStdinEnd) {
    await socket.send({ channel: channel.close, data: Buffer.from([channel.stdin]) })
  }
}

async function readOutput(socket: ChannelSocket, options: ExecOptions): Promise<ExecStatus | undefined> {
  for await (const message of socket.messages()) {
    if (message.channel === channel.stdout) await write(options.stdout, message.data)
    else if (message.channel === channel.stderr) await write(options.stderr, message.data)
    else if (message.channel === channel.status && message.data.length > 0) {
      return JSON.parse(message.data.toString()) as ExecStatus
    }
  }
  return undefined
}

async function write(stream: Writable | undefined, data: Buffer): Promise<void> {
  if (stream === undefined || data.length === 0 || stream.destroyed) return
  if (!stream.write(data)) await Promise.race([once(stream, 'drain'), once(stream, 'close')])
}
