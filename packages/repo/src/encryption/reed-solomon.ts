import { invert, type Matrix, multiplesOf, multiplyMatrices, power } from './galois.ts'

/** Computes parity shards and missing data shards. All shards of one call have the same length. */
export interface ReedSolomon {
  readonly dataShards: number
  readonly parityShards: number
  /** Fills the parity shards from the data shards. */
  encode(data: readonly Uint8Array[], parity: readonly Uint8Array[]): void
  /**
   * Computes the data shards that are undefined from those that are there. `shards` are the data shards, then the parity
   * shards. Returns all data shards, or undefined when more shards are missing than there is parity for.
   */
  reconstruct(shards: readonly (Uint8Array | undefined)[]): readonly Uint8Array[] | undefined
}

/**
 * The systematic code of klauspost/reedsolomon: a Vandermonde matrix multiplied by the inverse of its top square, so that
 * data shards stay as they are. At most 256 shards in all.
 */
export function createReedSolomon(dataShards: number, parityShards: number): ReedSolomon {
  const vandermonde = Array.from({ length: dataShards + parityShards }, (_, row) =>
    Uint8Array.from({ length: dataShards }, (_cell, column) => power(row, column)),
  )
  const matrix = multiplyMatrices(vandermonde, inverseOf(vandermonde.slice(0, dataShards)))
  const parityTables = tablesOf(matrix.slice(dataShards))
  return {
    dataShards,
    parityShards,
    encode: (data, parity) => combine(parityTables, data, parity),
    reconstruct: shards => reconstruct(matrix, shards),
  }
}

function reconstruct(
  matrix: Matrix,
  shards: readonly (Uint8Array | undefined)[],
): readonly Uint8Array[] | undefined {
  const dataShards = matrix[0]?.length ?? 0
  const present = shards
    .flatMap((shard, index) => (shard === undefined ? [] : [{ shard, index }]))
    .slice(0, dataShards)
  if (present.length < dataShards) return undefined
  const rows = inverseOf(present.map(({ index }) => matrix[index] as Uint8Array))
  const length = present[0]?.shard.length ?? 0
  const missing = shards.slice(0, dataShards).flatMap((shard, index) => (shard === undefined ? [index] : []))
  const repaired = new Map(missing.map(index => [index, new Uint8Array(length)]))
  combine(
    tablesOf(missing.map(index => rows[index] as Uint8Array)),
    present.map(({ shard }) => shard),
    [...repaired.values()],
  )
  return shards.slice(0, dataShards).map((shard, index) => shard ?? (repaired.get(index) as Uint8Array))
}

/** Any rows of the code's matrix that make a square have an inverse. */
function inverseOf(matrix: Matrix): Matrix {
  const inverse = invert(matrix)
  if (inverse === undefined) throw new Error('a square of a Reed-Solomon matrix has no inverse')
  return inverse
}

/** For each coefficient of the rows, its multiples. */
function tablesOf(rows: Matrix): readonly (readonly Uint8Array[])[] {
  return rows.map(row => Array.from(row, multiplesOf))
}

/** Sets each target to the sum of the sources, each multiplied by the coefficient in that target's row. */
function combine(
  tables: readonly (readonly Uint8Array[])[],
  sources: readonly Uint8Array[],
  targets: readonly Uint8Array[],
): void {
  for (let t = 0; t < targets.length; t++) {
    const target = targets[t] as Uint8Array
    const row = tables[t] as readonly Uint8Array[]
    target.fill(0)
    for (let s = 0; s < sources.length; s++)
      addMultiple(target, sources[s] as Uint8Array, row[s] as Uint8Array)
  }
}

function addMultiple(target: Uint8Array, source: Uint8Array, multiples: Uint8Array): void {
  for (let i = 0; i < target.length; i++) {
    target[i] = (target[i] as number) ^ (multiples[source[i] as number] as number)
  }
}
