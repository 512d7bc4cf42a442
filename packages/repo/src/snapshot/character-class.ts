type CodeTest = (code: number) => boolean

/** The test for a POSIX class name such as `alpha`, over Unicode as Go's unicode package has it; undefined if unknown. */
export function classMatcher(name: string): CodeTest | undefined {
  return classes.get(name)
}

function property(pattern: RegExp): CodeTest {
  return code => pattern.test(String.fromCodePoint(code))
}

const classes = new Map<string, CodeTest>([
  ['alnum', property(/^[\p{L}\p{Nd}]$/u)],
  ['alpha', property(/^\p{L}$/u)],
  ['ascii', code => code <= 0x7f],
  ['blank', property(/^[\p{Zs}\t]$/u)],
  ['cntrl', property(/^\p{Cc}$/u)],
  ['digit', property(/^\p{Nd}$/u)],
  ['graph', property(/^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]$/u)],
  ['lower', property(/^\p{Ll}$/u)],
  ['print', property(/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u)],
  ['punct', property(/^[\p{P}\p{S}]$/u)],
  ['space', property(/^\p{White_Space}$/u)],
  ['upper', property(/^\p{Lu}$/u)],
  ['xdigit', property(/^[A-Fa-f\p{Nd}]$/u)],
])
