import { useState } from 'react'
import { open } from '../../api/client.ts'
import { errorText } from '../../api/error-text.ts'
import { saveFile } from '../../lib/save-file.ts'
import { toast, unexpectedErrorTitle } from '../../lib/toasts.ts'
import type { LogsQuery } from './feed/log-feed.ts'

/** Returns a function that downloads all lines that match as a file. */
export function useDownload(params: { code: string; reference: string }, { filter, from, to }: LogsQuery) {
  const [isPending, setIsPending] = useState(false)
  const download = async () => {
    setIsPending(true)
    try {
      const response = await open('logs.download', { params, query: { ...filter, from, to } })
      saveFile(await response.blob(), `${params.reference}.log`)
    } catch (error) {
      toast({ tone: 'bad', title: unexpectedErrorTitle, message: errorText(error) })
    }
    setIsPending(false)
  }
  return { isPending, download: () => void download() }
}
