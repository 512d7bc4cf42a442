const fieldPolynomial = 0x11d
const order = 255

const exponents = new Uint8Array(2 * order)
const logarithms = new Uint8Array(256)
for (let power = 0, value = 1; power < order; power++) {
  exponents[power] = value
  exponents[power + order] = value
  logarithms[value] = power
  value = value & 0x80 ? (value << 1) ^ fieldPolynomial : value << 1
}

/** A matrix over GF(2^8), row by row. */
export type Matrix = readonly Uint8Array[]

/** The product in GF(2^8) with polynomial 0x11d. */
export function multiply(a: number, b: number): number {
  if (a === 0 || b === 0) return 0
  return exponents[at(logarithms, a) + at(logarithms, b)] as number
}

/** `base` to the power `exponent`; anything to the power 0 is 1. */
export function power(base: number, exponent: number): number {
  if (exponent === 0) return 1
  if (base === 0) return 0
  return at(exponents, (at(logarithms, base) * exponent) % order)
}

/** The products of `factor` with all 256 values. */
export function multiplesOf(factor: number): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, value) => multiply(factor, value))
}

/** The matrix product. */
export function multiplyMatrices(left: Matrix, right: Matrix): Matrix {
  const width = right[0]?.length ?? 0
  return left.map(row => {
    const product = new Uint8Array(width)
    for (const [k, factor] of row.entries()) addMultiple(product, right[k] as Uint8Array, factor)
    return product
  })
}

/** The inverse of a square matrix, or undefined when it has none. */
export function invert(matrix: Matrix): Matrix | undefined {
  const size = matrix.length
  const rows = matrix.map((row, i) => {
    const wide = new Uint8Array(2 * size)
    wide.set(row)
    wide[size + i] = 1
    return wide
  })
  for (let column = 0; column < size; column++) {
    const pivot = rows.findIndex((row, i) => i >= column && row[column] !== 0)
    if (pivot === -1) return undefined
    swap(rows, column, pivot)
    eliminate(rows, column)
  }
  return rows.map(row => row.subarray(size))
}

function eliminate(rows: readonly Uint8Array[], column: number): void {
  const pivot = rows[column] as Uint8Array
  const scale = at(exponents, order - at(logarithms, at(pivot, column)))
  for (let i = 0; i < pivot.length; i++) pivot[i] = multiply(at(pivot, i), scale)
  for (const row of rows) {
    if (row !== pivot) addMultiple(row, pivot, at(row, column))
  }
}

function addMultiple(target: Uint8Array, source: Uint8Array, factor: number): void {
  if (factor === 0) return
  for (let i = 0; i < target.length; i++) target[i] = at(target, i) ^ multiply(factor, at(source, i))
}

function swap(rows: Uint8Array[], a: number, b: number): void {
  const row = rows[a] as Uint8Array
  rows[a] = rows[b] as Uint8Array
  rows[b] = row
}

function at(bytes: Uint8Array, index: number): number {
  return bytes[index] as number
}
