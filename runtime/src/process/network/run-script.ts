import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { PLAIN_ENV } from '../sandbox.ts'

/**
 * Runs a shell script, which stops at its first failing command.
 * @returns the output
 * @throws Error with the first line of stderr
 */
export async function runScript(script: string): Promise<string> {
  return await runProgram(['/bin/sh', '-e', '-s'], script)
}

/** Runs a program with `input` as its stdin. Returns and throws like `runScript`. */
export async function runProgram([program = '', ...args]: string[], input = ''): Promise<string> {
  const child = spawn(program, args, { cwd: '/', env: PLAIN_ENV, timeout: TIMEOUT_MS })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  // The program may exit before it has read its input.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const [code, signal]: (number | string | null)[] = await once(child, 'close')
  if (code === 0) return output.stdout
  const reason = output.stderr.trim().split('\n').at(0)
  throw new Error(reason || `${program} ended with ${String(code ?? signal)}`)
}

const TIMEOUT_MS = 30_000
