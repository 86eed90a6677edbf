import { FileText } from 'lucide-react'
import { useState } from 'react'
import { open } from '../../api/client.ts'
import { errorText } from '../../api/error-text.ts'
import { saveFile } from '../../lib/save-file.ts'
import { toast, unexpectedErrorTitle } from '../../lib/toasts.ts'
import { Button } from '../../ui/Button.tsx'

type Props = { params: { code: string; year: string; month: string }; number: string }

/** The invoice of a closed month, as PDF. */
export function InvoiceButton({ params, number }: Props) {
  const [isPending, setIsPending] = useState(false)
  const download = async () => {
    setIsPending(true)
    try {
      const answer = await open('billing.getInvoice', { params })
      saveFile(await answer.blob(), `${number}.pdf`)
    } catch (error) {
      toast({ tone: 'bad', title: unexpectedErrorTitle, message: errorText(error) })
    }
    setIsPending(false)
  }
  return (
    <Button icon={<FileText size={14} aria-hidden />} isPending={isPending} onClick={() => void download()}>
      Invoice {number}
    </Button>
  )
}
