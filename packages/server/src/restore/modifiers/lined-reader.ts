import { FieldReader } from '../../filters/policies/field-reader.ts'
import type { YamlText } from './yaml-text.ts'

/** Part of Node since 22, and of the language, but not yet of the compiler's library. */
const json = JSON as typeof JSON & { isRawJSON(value: unknown): value is { rawJSON: string } }

/** Reads the fields of a YAML text, and remembers everything that is wrong with it by line and path. */
export class LinedReader extends FieldReader {
  readonly #text: YamlText
  readonly #found: { line: number; text: string }[] = []

  constructor(text: YamlText) {
    super()
    this.#text = text
  }

  override problem(path: string, reason: string): void {
    this.problemAt(this.#text.lineOf(path), path, reason)
  }

  problemAt(line: number, path: string, reason: string): void {
    const text = `line ${line}: ${path === '' ? '' : `${path}: `}${reason}`
    this.#found.push({ line, text })
    this.problems.push(text)
  }

  lineOf(path: string): number {
    return this.#text.lineOf(path)
  }

  lineInside(path: string, line: number): number {
    return this.#text.lineInside(path, line)
  }

  /** All problems from the top of the text to its end. */
  sorted(): string[] {
    return this.#found.toSorted((a, b) => a.line - b.line).map(({ text }) => text)
  }

  override text(value: unknown, path: string): string {
    return json.isRawJSON(value) ? value.rawJSON : super.text(value, path)
  }
}
