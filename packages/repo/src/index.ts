export type {
  NewObjectOptions,
  ObjectStore,
  ObjectStoreWriter,
  Repository,
  RepositoryWriter,
  WritingOptions,
} from './repository.ts'
