import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { loadConfig, type Config } from '../config/config.ts'
import { errorCodeOf } from '../config/invalid-setting.ts'

/**
 * Reads the settings of the target from a file with a line `NAME=value` for each, such as `shoal.env`. Settings that the file does not have are
 * unset, except SHOAL_DATA_DIR, which then is that of the source.
 * @throws Error if the file cannot be read; InvalidSettingError
 */
export function readTargetConfig(source: Config, file: string): Config {
  let text: string
  try {
    text = readFileSync(resolve(file), 'utf8')
  } catch (error) {
    throw new Error(`The settings of the target cannot be read from ${file} (${errorCodeOf(error)}).`, { cause: error })
  }
  return loadConfig({ SHOAL_DATA_DIR: source.dataDir, ...source.environment, ...parseEnv(text) })
}
