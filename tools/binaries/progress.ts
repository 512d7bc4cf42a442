/** Shows on the terminal that long work goes on: rewriting one line on a TTY, a line now and then elsewhere. */
export function startProgress(title: string, output: NodeJS.WriteStream = process.stderr) {
  const started = performance.now()
  const seconds = () => Math.round((performance.now() - started) / 1000)
  let note = ''
  const show = () => {
    const line = `${title} … ${seconds()} s${note ? `, ${note}` : ''}`
    output.write(output.isTTY ? `\r\u001b[K${line}` : `${line}\n`)
  }
  show()
  const timer = setInterval(show, output.isTTY ? 1000 : 20_000)
  timer.unref()
  return {
    /** Says how far the work has come; shown with the next tick. */
    note(text: string) {
      note = text
    },
    end(outcome: 'done' | 'failed') {
      clearInterval(timer)
      output.write(`${output.isTTY ? '\r\u001b[K' : ''}${title}: ${outcome} after ${seconds()} s\n`)
    },
  }
}
