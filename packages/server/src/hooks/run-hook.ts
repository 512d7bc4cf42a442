import { Writable } from 'node:stream'
import { goDurationOf } from '@lateen/api'
import {
  builtInKind,
  type Clock,
  isNotFound,
  type KubeClient,
  KubeError,
  type KubeObject,
  textOf,
} from '@lateen/kube'
import type { PodHook } from './pod-hooks.ts'

/** A pod, as far as hooks look at it. */
interface Pod extends KubeObject {
  spec?: { containers?: { name: string }[] }
  status?: {
    phase?: string
    containerStatuses?: { name: string; state?: { running?: unknown; waiting?: { reason?: string } } }[]
  }
}

const podType = builtInKind<Pod>('Pod')

type HookErrorCode =
  | 'HOOK_POD_GONE'
  | 'HOOK_CONTAINER_MISSING'
  | 'HOOK_CONTAINER_NOT_RUNNING'
  | 'HOOK_TIMED_OUT'
  | 'HOOK_EXIT_CODE'
  | 'HOOK_EXEC_FAILED'

/** Why a hook failed. */
export class HookError extends Error {
  override readonly name = 'HookError'
  readonly code: HookErrorCode
  readonly hint: string
  /** Whether the command may have done something in the pod. */
  readonly mayHaveActed: boolean

  constructor(code: HookErrorCode, message: string, details: HookErrorDetails) {
    super(message, details.cause === undefined ? {} : { cause: details.cause })
    this.code = code
    this.hint = details.hint
    this.mayHaveActed = details.mayHaveActed
  }
}

interface HookErrorDetails {
  hint: string
  mayHaveActed: boolean
  cause?: unknown
}

/** What a command said. */
export interface HookOutput {
  container: string
  stdout: string
  stderr: string
}

export interface HookPorts {
  client: KubeClient
  clock: Clock
}

/** Of each output this many bytes are kept. */
const longestOutput = 16 << 10

/**
 * Runs a hook in its pod as the pod is now. Undefined when the pod has ended by itself, which is no failure. Throws
 * HookError, or the signal's reason. A command that took too long may go on in the pod: nothing can end it from outside.
 */
export async function runHook(
  { namespace, name, hook }: { namespace: string; name: string; hook: PodHook },
  { client, clock }: HookPorts,
  signal?: AbortSignal,
): Promise<HookOutput | undefined> {
  const pod = await readPod(client, { namespace, name }, signal)
  if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return undefined
  const container = runningContainer(pod, hook.container)
  const stdout = new KeptOutput()
  const stderr = new KeptOutput()
  await using deadline = startDeadline(clock, hook.timeoutMs)
  const signals = signal === undefined ? [deadline.signal] : [signal, deadline.signal]
  let code: number
  try {
    const options = { command: hook.command, stdout, stderr, signal: AbortSignal.any(signals) }
    code = await client.exec({ namespace, name, container }, options)
  } catch (cause) {
    signal?.throwIfAborted()
    throw deadline.signal.aborted ? timedOut(hook, container) : execFailed(container, cause)
  }
  if (code === 0) return { container, stdout: stdout.text, stderr: stderr.text }
  throw new HookError('HOOK_EXIT_CODE', exitMessage({ code, container, stderr: stderr.text }), {
    hint: 'run the command in the container by hand to see what is wrong',
    mayHaveActed: true,
  })
}

async function readPod(
  client: KubeClient,
  { namespace, name }: { namespace: string; name: string },
  signal: AbortSignal | undefined,
): Promise<Pod> {
  try {
    return await client.resource(podType, namespace).get(name, { signal })
  } catch (cause) {
    signal?.throwIfAborted()
    const gone = isNotFound(cause)
    const message = gone
      ? `the pod ${namespace}/${name} no longer exists`
      : `the pod ${namespace}/${name} cannot be read: ${textOf(cause)}`
    throw new HookError(gone ? 'HOOK_POD_GONE' : 'HOOK_EXEC_FAILED', message, {
      hint: gone ? 'nothing has to be done; its successor is in the next backup' : 'back up again',
      mayHaveActed: false,
      cause,
    })
  }
}

function runningContainer({ spec, status }: Pod, wanted: string): string {
  const names = (spec?.containers ?? []).map(({ name }) => name)
  const container = wanted === '' ? (names[0] ?? '') : wanted
  if (!names.includes(container)) {
    throw new HookError('HOOK_CONTAINER_MISSING', `the pod has no container "${container}"`, {
      hint: `name one of ${names.join(', ')}`,
      mayHaveActed: false,
    })
  }
  const state = status?.containerStatuses?.find(({ name }) => name === container)?.state
  if (state?.running !== undefined) return container
  const reason = state?.waiting?.reason === undefined ? '' : ` (${state.waiting.reason})`
  throw new HookError('HOOK_CONTAINER_NOT_RUNNING', `the container "${container}" is not running${reason}`, {
    hint: 'wait until it runs, or let the hook go on with onError: Continue',
    mayHaveActed: false,
  })
}

function startDeadline(clock: Clock, timeoutMs: number): AsyncDisposable & { signal: AbortSignal } {
  const deadline = new AbortController()
  const over = new AbortController()
  const waiting = clock.sleep(Math.max(0, timeoutMs), over.signal).then(
    () => deadline.abort(),
    () => undefined,
  )
  return {
    signal: deadline.signal,
    async [Symbol.asyncDispose]() {
      over.abort()
      await waiting
    },
  }
}

/** Keeps the beginning of what is written and drops the rest: a hook that never stops talking fills no memory. */
class KeptOutput extends Writable {
  #kept = Buffer.alloc(0)
  #dropped: boolean = false

  get text(): string {
    return this.#kept.toString() + (this.#dropped ? '…' : '')
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const room = longestOutput - this.#kept.length
    if (room > 0) this.#kept = Buffer.concat([this.#kept, chunk.subarray(0, room)])
    this.#dropped ||= chunk.length > room
    done()
  }
}

function timedOut({ timeoutMs }: PodHook, container: string): HookError {
  const message = `the command in container "${container}" timed out after ${goDurationOf(timeoutMs)}`
  return new HookError('HOOK_TIMED_OUT', message, {
    hint: 'give the hook a longer timeout; the command may still run in the container',
    mayHaveActed: true,
  })
}

function execFailed(container: string, cause: unknown): HookError {
  return new HookError(
    'HOOK_EXEC_FAILED',
    `the command cannot be run in container "${container}": ${textOf(cause)}`,
    {
      hint: 'check that the command exists in the image and that pods/exec is allowed',
      mayHaveActed: !(cause instanceof KubeError) || cause.mayHaveActed,
      cause,
    },
  )
}

function exitMessage({
  code,
  container,
  stderr,
}: {
  code: number
  container: string
  stderr: string
}): string {
  const said = stderr.trim() === '' ? '' : `: ${stderr.trim().slice(0, 500)}`
  return `the command in container "${container}" ended with exit code ${code}${said}`
}
