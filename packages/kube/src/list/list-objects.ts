import type { Listing, ListOptions } from '../client.ts'
import { isGone, isUnauthorized, KubeError } from '../errors.ts'
import type { Api } from '../http/api.ts'
import { apiVersionOf } from '../http/api-path.ts'
import { describeSubject, type Subject } from '../http/kube-request.ts'
import { decideRetry } from '../http/retry-policy.ts'
import type { KubeObject, ResourceType } from '../object.ts'
import { eachOf } from './each-of.ts'
import { decodeEncoded, type EncodedObject, encodedKey } from './encoded-object.ts'
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
  /** When the first attempt at what failed began. */
  since: number
  unauthorized: boolean
}

/**
 * Lists page by page. A page that breaks off or whose token expired is asked for again, and objects up to the
 * last one handed out are skipped: lists are ordered by key, so one key is all there is to remember.
 */
export function listObjects<T extends KubeObject>(
  api: Api,
  target: ListTarget,
  options: ListOptions = {},
): Listing<T> {
  return listWith<T>(api, { target, options, codec: { decode: decodeObject(target.type), keyOf: objectKey } })
}

/** As `listObjects`, without decoding more of an object than tells it from others. */
export function listEncoded(api: Api, target: ListTarget, options: ListOptions = {}): Listing<EncodedObject> {
  const decode = decodeEncoded(target.type)
  return listWith(api, { target, options, codec: { decode, keyOf: encodedKey } })
}

/** What a list makes of the JSON of its items. */
interface ItemCodec<T> {
  decode(json: Buffer): T
  keyOf(object: T): string
}

interface ListPlan<T> {
  target: ListTarget
  options: ListOptions
  codec: ItemCodec<T>
}

function listWith<T>(api: Api, plan: ListPlan<T>): Listing<T> {
  let resourceVersion: string | undefined
  const onVersion = (version: string | undefined) => {
    resourceVersion = version
  }
  return {
    get resourceVersion() {
      return resourceVersion
    },
    [Symbol.asyncIterator]: () => eachOf(listBatches(api, { ...plan, onVersion }), plan.options.signal),
    toArray() {
      return Array.fromAsync(this)
    },
  }
}

interface ListRun<T> extends ListPlan<T> {
  onVersion(version: string | undefined): void
}

async function* listBatches<T>(api: Api, run: ListRun<T>): AsyncGenerator<T[], void, undefined> {
  const scope = new AbortController()
  const outer = run.options.signal
  const signal = outer === undefined ? scope.signal : AbortSignal.any([outer, scope.signal])
  const progress: Progress = {
    token: undefined,
    lastKey: undefined,
    resumeAfter: undefined,
    ordered: true,
    failures: 0,
    since: 0,
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

interface PageStep<T> {
  api: Api
  run: ListRun<T>
  progress: Progress
  pages: PageSource
}

/** Hands out one page's objects and returns the next page's token. */
async function* readOnePage<T>(step: PageStep<T>): AsyncGenerator<T[], string | undefined, undefined> {
  const { api, run, progress, pages } = step
  const startedAt = api.retry.clock.now()
  if (progress.failures === 0) progress.since = startedAt
  const { request, response } = await pages.take(progress.token)
  const page = readPage(response, request, run.codec.decode)
  const nothingHandedOut = progress.lastKey === undefined
  const head = await page.head()
  if (nothingHandedOut) run.onVersion(head.resourceVersion)
  pages.readAhead(head.continueToken)
  const isNew = newToProgress(step)
  for await (const items of page.batches()) {
    const objects = items.filter(isNew)
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
function newToProgress<T>({ progress, pages, run }: PageStep<T>): (object: T) => boolean {
  const { keyOf } = run.codec
  const resuming = progress.resumeAfter !== undefined
  let previous = ''
  return object => {
    const key = keyOf(object)
    if (resuming && key < previous) throw unordered(pages.subject)
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
  const elapsedMs = clock.now() - progress.since
  const decision = decideRetry(
    { error, attempt: progress.failures, repeatable: true, elapsedMs },
    policy,
    random,
  )
  if (!decision.retry) throw error
  const fields = { code: error.code, failures: progress.failures, afterMs: decision.afterMs }
  log.debug({ request: describeSubject(subject), ...fields }, 'Reading a page of a list again')
  await clock.sleep(decision.afterMs, signal)
}

/** Items of built-in kinds come without apiVersion and kind: the list says them once for all. */
function decodeObject<T extends KubeObject>(type: ResourceType<KubeObject>): (json: Buffer) => T {
  const identity = { apiVersion: apiVersionOf(type), kind: type.kind }
  return json => {
    const item = JSON.parse(json.toString()) as T | (T & { kind: undefined })
    return item.kind === undefined ? { ...identity, ...item } : item
  }
}

function unordered(subject: Subject, cause?: unknown): KubeError {
  return new KubeError('ListUnordered', {
    message: `cannot ${describeSubject(subject)}: it broke off and cannot be resumed, because the server does not order it`,
    hint: 'list again from the start',
    retryable: true,
    cause,
  })
}
