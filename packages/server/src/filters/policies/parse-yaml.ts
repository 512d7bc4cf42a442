import { parse } from 'yaml'

/** The one YAML document of a text, as plain values. Throws an error that says where the text goes wrong. */
export function parseYaml(text: string): unknown {
  return parse(text, { merge: true, prettyErrors: false, logLevel: 'error' })
}
