import { RepoError } from '../../errors/repo-error.ts'
import { type ManifestMetadata, manifestId } from '../../manifest/manifest-store.ts'
import { objectId } from '../../object/object-id.ts'
import type { Repository, RepositoryWriter } from '../../repository.ts'
import type {
  BackupRepo,
  ManifestEntryMetadata,
  ObjectWriteOptions,
  ObjectWriter,
  RepoId,
  RepoManifest,
} from '../backup-repo.ts'
import { type HeldWriter, holdWriter } from './held-writer.ts'
import { seekableObjectReader } from './seekable-object-reader.ts'
import { seekableObjectWriter } from './seekable-object-writer.ts'

/** A unified repository over the native engine, with the engine's own door for our uploader. */
export interface KopiaBackupRepo extends BackupRepo {
  readonly repository: Repository
}

/** Puts the unified contract over an opened repository, which it then owns. */
export function kopiaBackupRepo(repository: Repository): KopiaBackupRepo {
  let held: Promise<HeldWriter> | undefined
  const writer = async (): Promise<RepositoryWriter> => {
    held ??= holdWriter(repository)
    return (await held).writer
  }
  // What was put but not flushed is visible to this repository alone, through its writer.
  const manifests = async () => (held === undefined ? repository.manifests : (await held).writer.manifests)
  const objects = async () => (held === undefined ? repository.objects : (await held).writer.objects)
  const close = async () => {
    const open = held
    held = undefined
    await (await open)?.release()
    await repository[Symbol.asyncDispose]()
  }
  return {
    repository,
    openObject: async (id, { signal } = {}) =>
      seekableObjectReader(await (await objects()).open(objectId(id), signal), signal),
    async getManifest(id, { signal } = {}) {
      const manifest = await (await manifests()).get(manifestId(id), signal)
      return { payload: manifest.payload, metadata: entryMetadata(manifest) }
    },
    async findManifests({ labels }, { signal } = {}) {
      return (await (await manifests()).find(labels, signal)).map(entryMetadata)
    },
    newObjectWriter: (options = {}) => lazyWriter(writer, options),
    async putManifest({ payload, metadata }: RepoManifest) {
      return asRepoId(await (await writer()).manifests.put(metadata.labels, payload))
    },
    deleteManifest: async (id, { signal } = {}) => (await writer()).manifests.delete(manifestId(id), signal),
    flush: async ({ signal } = {}) => (await held)?.writer.flush(signal),
    time: () => repository.clock.now(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** The contract makes a writer at once, while the engine opens its writing scope with the first use. */
function lazyWriter(writer: () => Promise<RepositoryWriter>, options: ObjectWriteOptions): ObjectWriter {
  let opened: Promise<ObjectWriter> | undefined
  let closed = false
  const open = () => {
    if (closed) throw new RepoError('INVALID_ARGUMENT', { message: 'The object writer is closed' })
    opened ??= writer().then(({ contents, repository }) =>
      seekableObjectWriter(
        { contents, splitter: repository.format.format.splitter, clock: repository.clock },
        options,
      ),
    )
    return opened
  }
  const close = async () => {
    closed = true
    await (await opened)?.close()
  }
  return {
    write: async bytes => (await open()).write(bytes),
    seek: async (offset, origin) => (await open()).seek(offset, origin),
    checkpoint: async () => (await open()).checkpoint(),
    result: async () => (await open()).result(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function entryMetadata({ id, labels, length, modified }: ManifestMetadata): ManifestEntryMetadata {
  return { id: asRepoId(id), labels, length, modTime: Number(modified / 1_000_000n) }
}

function asRepoId(id: string): RepoId {
  return id as RepoId
}
