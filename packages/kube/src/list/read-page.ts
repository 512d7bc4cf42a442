import { KubeError } from '../errors.ts'
import { malformedBody } from '../http/api.ts'
import { describeSubject, type KubeRequest, type KubeResponse } from '../http/kube-request.ts'
import { type ListEnvelope, ListSplitter } from './list-splitter.ts'

/** What a list says about itself. */
export interface PageHead {
  resourceVersion: string | undefined
  continueToken: string | undefined
}

/** One page, read once and in this order. All three throw a retryable KubeError for a body that breaks off. */
export interface Page<T> {
  /** What stood before the items: for built-in kinds all of it, for custom resources nothing. */
  head(): Promise<PageHead>
  /** The items in batches, each as many as one chunk of bytes held. */
  batches(): AsyncGenerator<T[], void, undefined>
  /** The same after the whole body has been seen. */
  tail(): Promise<PageHead>
}

/**
 * Decodes a page item by item; the bytes of at most one chunk and one item are held. `decode` makes an object of an
 * item's JSON; whatever it throws shows that the body is not what it should be.
 */
export function readPage<T>(
  response: KubeResponse,
  request: KubeRequest,
  decode: (json: Buffer) => T,
): Page<T> {
  const splitter = new ListSplitter()
  const chunks = response.body[Symbol.asyncIterator]()
  let waiting: Buffer[] = []

  /** False at the end of the body. */
  async function pull(): Promise<boolean> {
    let result: IteratorResult<Buffer>
    try {
      result = await chunks.next()
    } catch (error) {
      throw response.failure(error)
    }
    if (result.done === true) return false
    waiting = decoded(() => splitter.push(result.value))
    return true
  }

  function decoded<R>(run: () => R): R {
    try {
      return run()
    } catch (error) {
      throw malformedBody(request, response.server, error)
    }
  }

  function noList(): KubeError {
    return malformedBody(request, response.server, new SyntaxError('it is no list'))
  }

  function describe({ metadata }: ListEnvelope): PageHead {
    return { resourceVersion: metadata?.resourceVersion, continueToken: metadata?.continue || undefined }
  }

  return {
    async head() {
      while (!splitter.headComplete && (await pull()));
      if (splitter.headComplete) return describe(decoded(() => splitter.head()))
      throw splitter.begun ? cut(request) : noList()
    },
    async *batches() {
      do {
        if (waiting.length > 0) yield decoded(() => waiting.map(decode))
      } while (await pull())
      if (!splitter.complete) throw cut(request)
    },
    async tail() {
      // Taking something else for an empty list would lose objects without a word.
      const envelope = decoded(() => splitter.envelope())
      if (envelope.items === undefined) throw noList()
      return describe(envelope)
    },
  }
}

function cut({ subject }: KubeRequest): KubeError {
  return new KubeError('BodyCut', {
    message: `cannot ${describeSubject(subject)}: the answer ended in the middle of the list`,
    hint: 'the API server or a proxy in between closed the connection early: try again',
    retryable: true,
    mayHaveActed: true,
  })
}
