import { limits } from '@shoal/contract'
import { createInterface } from 'node:readline'
import { PassThrough, type Readable, type Writable } from 'node:stream'

type Terminal = { input: Readable & { isTTY?: boolean }; prompts: Writable }

/**
 * Reads a new password: from a terminal, twice and without showing it; otherwise from the only line of standard input.
 * It is never an argument, because every user of the host can read the arguments of all processes.
 * @throws if it is empty, too short or too long, if the two differ, or on Ctrl-C
 */
export async function readPassword({ input, prompts }: Terminal): Promise<string> {
  const password = input.isTTY ? await promptTwice(input, prompts) : await readOnlyLine(input)
  const { passwordMin, passwordMax } = limits
  if (password.length < passwordMin || password.length > passwordMax)
    throw new Error(`The password must have ${passwordMin} to ${passwordMax} characters.`)
  return password
}

async function readOnlyLine(input: Readable): Promise<string> {
  let text = ''
  for await (const chunk of input.setEncoding('utf8')) {
    text += chunk as string
    if (text.length > 10_000) break
  }
  const password = text.replace(/\r?\n$/, '')
  if (/[\r\n]/.test(password))
    throw new Error('Standard input must contain the password in one line, and nothing else.')
  return password
}

async function promptTwice(input: Readable, prompts: Writable): Promise<string> {
  // readline echoes the input to its output, so the output is discarded.
  const terminal = createInterface({ input, output: new PassThrough().resume(), terminal: true })
  const lines = terminal[Symbol.asyncIterator]()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  terminal.once('SIGINT', () => reject(new Error('Aborted.')))
  const readLine = async (prompt: string) => {
    prompts.write(prompt)
    const line = await Promise.race([lines.next(), aborted])
    prompts.write('\n')
    if (line.done) throw new Error('No password was entered.')
    return line.value
  }
  try {
    const password = await readLine('Password: ')
    if ((await readLine('The same password again: ')) !== password) throw new Error('The two passwords differ.')
    return password
  } finally {
    terminal.close()
  }
}
