/** How many snapshots are worked on at the same time. */
const AT_ONCE = 16

/** Works on all of them, some at a time. Throws what the first that failed threw, when all that had begun have ended. */
export async function eachAtOnce<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]()
  const failures: unknown[] = []
  const workOn = async () => {
    // All take from the same.
    for (let next = left.next(); !next.done && failures.length === 0; next = left.next()) {
      await work(next.value).catch((error: unknown) => void failures.push(error))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, workOn))
  if (failures.length > 0) throw failures[0]
}
