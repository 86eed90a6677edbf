import { closeSync, openSync, readSync } from 'node:fs'
import type { Config } from '../../../config/config.ts'
import { InvalidSettingError } from '../../../config/invalid-setting.ts'

/** Magic bytes of TrueType, OpenType, their collections, WOFF and WOFF2. */
const magicBytes = ['\0\u0001\0\0', 'true', 'OTTO', 'ttcf', 'wOFF', 'wOF2']

/**
 * Returns the path in SHOAL_INVOICE_FONT, after a check of the file's first bytes; undefined if the setting is not set.
 * @throws InvalidSettingError naming the file, when it cannot be read or is not a font
 */
export function checkedFontFile({ SHOAL_INVOICE_FONT: file }: Pick<Config, 'SHOAL_INVOICE_FONT'>): string | undefined {
  if (file !== undefined && !magicBytes.includes(firstBytesOf(file)))
    throw new InvalidSettingError(`SHOAL_INVOICE_FONT: ${file} is not a font (TTF, OTF, TTC, WOFF or WOFF2)`)
  return file
}

function firstBytesOf(file: string): string {
  const bytes = Buffer.alloc(4)
  try {
    const descriptor = openSync(file, 'r')
    readSync(descriptor, bytes)
    closeSync(descriptor)
  } catch (error) {
    throw new InvalidSettingError(`SHOAL_INVOICE_FONT: ${file} cannot be read`, { cause: error })
  }
  return bytes.toString('latin1')
}
