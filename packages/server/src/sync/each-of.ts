/**
 * Works on what comes, at most so many at once, and asks for no more than that. Throws what the source throws, or the first
 * failure of the work, once all work under way has ended; the source is closed in every case.
 */
export async function eachOf<T>(
  source: AsyncIterable<T>,
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const items = source[Symbol.asyncIterator]()
  let failed = false
  const workOn = async () => {
    try {
      for (let next = await items.next(); !next.done && !failed; next = await items.next()) {
        await work(next.value)
      }
    } catch (error) {
      failed = true
      throw error
    }
  }
  const workers = await Promise.allSettled(Array.from({ length: atOnce }, workOn))
  await items.return?.()
  const failure = workers.find(({ status }) => status === 'rejected')
  if (failure?.status === 'rejected') throw failure.reason
}
