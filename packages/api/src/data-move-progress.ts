import { int64, object } from './schema/build.ts'
import type { Infer } from './schema/schema.ts'

/** The schema of {@link DataMoveProgress}. */
export const dataMoveProgress = object('How far the data has come.', {
  bytesDone: int64('Bytes handled so far.'),
  totalBytes: int64('Bytes to handle in all.'),
})

/** How far the data of one volume has come. */
export interface DataMoveProgress extends Infer<typeof dataMoveProgress> {}
