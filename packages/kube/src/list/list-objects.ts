import type { Listing, ListOptions } from '../client.ts'
import { isGone, isUnauthorized, KubeError } from '../errors.ts'
import type { Api } from '../http/api.ts'
import { apiVersionOf } from '../http/api-path.ts'
import { describeSubject, type Subject } from '../http/kube-request.ts'
import { decideRetry } from '../http/retry-policy.ts'
import type { KubeObject, ResourceType } from '../object.ts'
import { eachOf } from './each-of.ts'
import { objectKey } from './object-key.ts'
import { createPageSource, type ListTarget, type PageSource } from './page-source.ts'
import { readPage } from './read-page.ts'

/** How far a list has come. Small however long the list is. */
interface Progress {
  token: string | undefined
  /** The key handed out last. */
  lastKey: string | undefined
  /** After a failure: a page that is read again hands out only what sorts after this key. */
  resumeAfter: string | undefined
  /** So far every key was greater than the one before, so `lastKey` tells what was handed out. */
  ordered: boolean
  /** Failures since the last object was handed out. */
  failures: number
  unauthorized: boolean
}

/**
 * Lists page by page. A page that breaks off or whose token expired is asked for again, and objects up to the
 * last one handed out are skipped: lists are ordered by key, so one key is all there is to remember.
 */
export function listObjects<T extends KubeObject>(
  api: Api,
  target: ListTarget<T>,
  options: ListOptions = {},
): Listing<T> {
  let resourceVersion: string | undefined
  const onVersion = (version: string | undefined) => {
    resourceVersion = version
  }
  return {
    get resourceVersion() {
      return resourceVersion
    },
    [Symbol.asyncIterator]: () => eachOf(listBatches(api, { target, options, onVersion }), options.signal),
    toArray() {
      return Array.fromAsync(this)
    },
  }
}

interface ListRun<T extends KubeObject> {
  target: ListTarget<T>
  options: ListOptions
  onVersion(version: string | undefined): void
}

async function* listBatches<T extends KubeObject>(
  api: Api,
  run: ListRun<T>,
): AsyncGenerator<T[], void, undefined> {
  const scope = new AbortController()
  const outer = run.options.signal
  const signal = outer === undefined ? scope.signal : AbortSignal.any([outer, scope.signal])
  const progress: Progress = {
    token: undefined,
    lastKey: undefined,
    resumeAfter: undefined,
    ordered: true,
    failures: 0,
    unauthorized: false,
  }
  const pages = createPageSource(api, { target: run.target, list: run.options, signal })
  try {
    for (;;) {
      try {
        const next = yield* readOnePage({ api, run, progress, pages })
        if (next === undefined) return
        progress.token = next
      } catch (error) {
        outer?.throwIfAborted()
        await recover(api, { progress, error, subject: pages.subject, signal })
      }
    }
  } finally {
    scope.abort()
  }
}

interface PageStep<T extends KubeObject> {
  api: Api
  run: ListRun<T>
  progress: Progress
  pages: PageSource
}

/** Hands out one page's objects and returns the next page's token. */
async function* readOnePage<T extends KubeObject>(
  step: PageStep<T>,
): AsyncGenerator<T[], string | undefined, undefined> {
  const { api, run, progress, pages } = step
  const startedAt = api.retry.clock.now()
  const { request, response } = await pages.take(progress.token)
  const page = readPage<T>(response, request)
  const nothingHandedOut = progress.lastKey === undefined
  const head = await page.head()
  if (nothingHandedOut) run.onVersion(head.resourceVersion)
  pages.readAhead(head.continueToken)
  const identify = withIdentity<T>(run.target.type)
  const isNew = newToProgress<T>(progress, pages.subject)
  for await (const items of page.batches()) {
    const objects = items.map(identify).filter(isNew)
    if (objects.length === 0) continue
    progress.failures = 0
    yield objects
  }
  pages.pace(api.retry.clock.now() - startedAt)
  const tail = await page.tail()
  // Lists of custom resources tell their version after their items.
  if (nothingHandedOut) run.onVersion(tail.resourceVersion)
  return tail.continueToken
}

/** Tells objects not yet handed out from those that a page read again repeats, and notes the former. */
function newToProgress<T extends KubeObject>(progress: Progress, subject: Subject): (object: T) => boolean {
  const resuming = progress.resumeAfter !== undefined
  let previous = ''
  return object => {
    const key = objectKey(object)
    if (resuming && key < previous) throw unordered(subject)
    previous = key
    if (progress.resumeAfter !== undefined && key <= progress.resumeAfter) return false
    progress.resumeAfter = undefined
    progress.ordered &&= progress.lastKey === undefined || key > progress.lastKey
    progress.lastKey = key
    return true
  }
}

async function recover(
  api: Api,
  failed: { progress: Progress; error: unknown; subject: Subject; signal: AbortSignal },
): Promise<void> {
  const { progress, error, subject, signal } = failed
  if (!(error instanceof KubeError)) throw error
  if (!progress.ordered) throw unordered(subject, error)
  progress.failures++
  progress.resumeAfter = progress.lastKey
  const { policy, clock, random, log } = api.retry
  if (isUnauthorized(error) && !progress.unauthorized) {
    progress.unauthorized = true
    api.retry.invalidateCredentials()
    return
  }
  if (isGone(error) && progress.token !== undefined && progress.failures < policy.attempts) {
    // The server may send a token that goes on at the same key in the present; without one, start over.
    progress.token = error.continueToken
    const resumable = error.continueToken !== undefined
    log.debug({ request: describeSubject(subject), resumable }, 'The pages of a list have expired')
    return
  }
  const decision = decideRetry({ error, attempt: progress.failures, repeatable: true }, policy, random)
  if (!decision.retry) throw error
  const fields = { code: error.code, failures: progress.failures, afterMs: decision.afterMs }
  log.debug({ request: describeSubject(subject), ...fields }, 'Reading a page of a list again')
  await clock.sleep(decision.afterMs, signal)
}

/** Items of built-in kinds come without apiVersion and kind: the list says them once for all. */
function withIdentity<T extends KubeObject>(type: ResourceType<T>): (item: T) => T {
  const identity = { apiVersion: apiVersionOf(type), kind: type.kind }
  return item => (item.kind === undefined ? { ...identity, ...item } : item)
}

function unordered(subject: Subject, cause?: unknown): KubeError {
  return new KubeError('ListUnordered', {
    message: `cannot ${describeSubject(subject)}: it broke off and cannot be resumed, because the server does not order it`,
    hint: 'list again from the start',
    retryable: true,
    cause,
  })
}
