import { Readable } from 'node:stream'
import { isPluginError, type ObjectBody, type ObjectStore, ObjectStoreError } from '@lateen/plugin'
import type { ProgramProcess } from './program-process.ts'
import type { SessionPrograms } from './session-programs.ts'

/** An object store in a program, to be initialised by the caller. Disposing it does not end the program; the session does. */
export function programObjectStore(programs: SessionPrograms, file: string, name: string): ObjectStore {
  const key = { kind: 'ObjectStore', name } as const
  let program = programs.program(file)
  const ask = <Answer>(
    signal: AbortSignal | undefined,
    work: (store: ObjectStore, process: ProgramProcess) => Promise<Answer>,
  ) => storeErrors(program.call(key, work, { signal, long: true }))
  return {
    async init({ config, signal }) {
      program = programs.programFor(file, key, config)
      await storeErrors(program.initialise(key, config, signal))
    },
    async putObject(options) {
      let begun = false
      try {
        await ask(options.signal, store => {
          begun = true
          return store.putObject(options)
        })
      } finally {
        if (!begun) await closeBody(options.body)
      }
    },
    objectExists: options => ask(options.signal, store => store.objectExists(options)),
    getObject: options =>
      ask(options.signal, async (store, process) => held(await store.getObject(options), process)),
    async *listCommonPrefixes(options) {
      yield* await ask(options.signal, store => Array.fromAsync(store.listCommonPrefixes(options)))
    },
    async *listObjects(options) {
      yield* await ask(options.signal, store => Array.fromAsync(store.listObjects(options)))
    },
    deleteObject: options => ask(options.signal, store => store.deleteObject(options)),
    createSignedUrl: options => ask(options.signal, store => store.createSignedUrl(options)),
    async [Symbol.asyncDispose]() {},
  }
}

/**
 * Reading is work too: a program that stops answering in the middle of an object is noticed. Who stopped reading does not hear of it, and
 * must not end the server because of that.
 */
function held(stream: Readable, process: ProgramProcess): Readable {
  const hold = process.holdOpen()
  stream.once('error', error => process.noticeFailure(error))
  stream.once('close', () => hold[Symbol.dispose]())
  stream.on('error', () => {})
  return stream
}

async function closeBody(body: ObjectBody): Promise<void> {
  // A stream does not notice the return of an iterator that was never asked for anything.
  if (body instanceof Readable) body.destroy()
  else if (!(body instanceof Uint8Array)) await body[Symbol.asyncIterator]().return?.()
}

async function storeErrors<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    if (!isPluginError(error)) throw error
    throw new ObjectStoreError('UNREACHABLE', { reason: error.message, cause: error })
  }
}
