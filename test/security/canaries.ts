import { randomBytes } from 'node:crypto'

/** Texts that nobody may see, by what they are. */
export type Canaries = ReadonlyMap<string, string>

/** A text that occurs nowhere by chance. */
export function newCanary(length = 32): string {
  return `canary${randomBytes(length).toString('hex')}`.slice(0, length)
}

/** Where something was found that should not be there. */
export interface Leak {
  readonly where: string
  readonly what: string
  /** Such as `base64`. */
  readonly form: string
}

/** Looks for canaries in whatever a program has said or left behind: as they are, and as they are usually written. */
export class CanaryWatch {
  readonly #forms: { what: string; form: string; text: string }[]
  readonly leaks: Leak[] = []
  readonly #places: string[] = []

  constructor(canaries: Canaries) {
    this.#forms = [...canaries].flatMap(([what, canary]) =>
      Object.entries(formsOf(canary)).map(([form, text]) => ({ what, form, text })),
    )
  }

  /** The places that were looked at, so that a test can tell that it looked. */
  get places(): readonly string[] {
    return this.#places
  }

  look(where: string, bytes: string | Uint8Array): void {
    this.#places.push(where)
    const text = Buffer.from(bytes as Uint8Array)
    for (const { what, form, text: wanted } of this.#forms) {
      if (text.includes(wanted)) this.leaks.push({ where, what, form })
    }
  }
}

/** In base64, what stands before a text moves it: what remains of it in all three positions is looked for. */
function formsOf(canary: string): Record<string, string> {
  const shifted = (by: number) => {
    const text = Buffer.from('x'.repeat(by) + canary).toString('base64')
    return text.slice(by === 0 ? 0 : 4, -4)
  }
  const encoded = encodeURIComponent(canary)
  return {
    plain: canary,
    ...(encoded !== canary && { 'url encoded': encoded }),
    hex: Buffer.from(canary).toString('hex'),
    base64: shifted(0),
    'base64 after one byte': shifted(1),
    'base64 after two bytes': shifted(2),
  }
}
