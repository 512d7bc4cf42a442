/** A backup in a bucket that is not shown, and why. */
export interface SyncProblem {
  backup: string
  reason: string
}

/** What is wrong in one bucket and was told, so that it is not told again each time somebody looks. */
export class ToldProblems {
  readonly #told = new Map<string, { reason: string; round: number }>()
  #round = 0
  #news: SyncProblem[] = []

  /** Begins another look at the bucket. */
  begin(): void {
    this.#round += 1
  }

  add({ backup, reason }: SyncProblem): void {
    if (this.#told.get(backup)?.reason !== reason) this.#news.push({ backup, reason })
    this.#told.set(backup, { reason, round: this.#round })
  }

  /** What has been found that was not told, in order of names. From now on it counts as told. */
  takeNews(): SyncProblem[] {
    const news = this.#news
    this.#news = []
    return news.toSorted((a, b) => (a.backup < b.backup ? -1 : 1))
  }

  /** Ends a look that saw the whole bucket: what it did not find any more would be news again. */
  end(): void {
    for (const [backup, { round }] of this.#told) if (round !== this.#round) this.#told.delete(backup)
  }
}
