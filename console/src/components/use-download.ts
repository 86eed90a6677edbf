import { useState } from 'react'
import { errorText } from '../api/error-text.ts'
import { saveFile } from '../lib/save-file.ts'
import { toast, unexpectedErrorTitle } from '../lib/toasts.ts'

/** Returns a function that requests a file and saves it as a download; a toast shows why it failed. */
export function useDownload(request: () => Promise<Response>, fileName: string) {
  const [isPending, setIsPending] = useState(false)
  const download = async () => {
    setIsPending(true)
    try {
      saveFile(await (await request()).blob(), fileName)
    } catch (error) {
      toast({ tone: 'bad', title: unexpectedErrorTitle, message: errorText(error) })
    }
    setIsPending(false)
  }
  return { isPending, download: () => void download() }
}
