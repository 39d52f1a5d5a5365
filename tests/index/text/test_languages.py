"""Languages: names, stop words, and the detection of a text's language."""

from __future__ import annotations

import pytest

from shortlist.errors import InputError
from shortlist.index.text.languages import (
    check_language,
    detect_language,
    get_request_words,
    get_stop_words,
    is_right_to_left,
    list_languages,
    name_language,
    read_language,
)

SENTENCES = {
    "ar": "كيف يمكنني حذف الملفات القديمة من هذا المجلد؟",
    "bg": "Как мога да изтрия старите файлове от тази папка?",
    "bn": "আমি কীভাবে এই ফোল্ডার থেকে পুরানো ফাইলগুলি মুছে ফেলতে পারি?",
    "ca": "Com puc esborrar els fitxers antics d'aquesta carpeta amb una ordre?",
    "cs": "Jak mohu smazat staré soubory z této složky, když je nepotřebuji?",
    "da": "Hvordan kan jeg slette de gamle filer fra denne mappe?",
    "de": "Wie kann ich die alten Dateien aus diesem Ordner löschen?",
    "el": "Πώς μπορώ να διαγράψω τα παλιά αρχεία από αυτόν τον φάκελο;",
    "en": "How can I delete the old files from this folder?",
    "es": "¿Cómo puedo borrar los archivos antiguos de esta carpeta?",
    "et": "Kuidas ma saan sellest kaustast vanad failid kustutada?",
    "fa": "چگونه می‌توانم فایل‌های قدیمی را از این پوشه پاک کنم؟",
    "fi": "Miten voin poistaa vanhat tiedostot, jotka ovat tässä kansiossa?",
    "fr": "Comment puis-je supprimer les anciens fichiers de ce dossier ?",
    "he": "איך אני יכול למחוק את הקבצים הישנים של התיקייה הזאת?",
    "hi": "मैं इस फ़ोल्डर से पुरानी फ़ाइलें कैसे हटा सकता हूँ?",
    "hr": "Kako mogu izbrisati stare datoteke koje su u ovoj mapi?",
    "hu": "Hogyan törölhetem a régi fájlokat ebből a mappából, ha már nem kell?",
    "id": "Bagaimana saya bisa menghapus berkas lama dari folder ini?",
    "it": "Come posso eliminare i vecchi file che sono in questa cartella?",
    "ja": "このフォルダから古いファイルを削除するにはどうすればいいですか。",
    "km": "តើខ្ញុំអាចលុបឯកសារចាស់ៗចេញពីថតនេះដោយរបៀបណា?",
    "ko": "이 폴더에서 오래된 파일을 어떻게 삭제할 수 있습니까?",
    "lo": "ຂ້ອຍຈະລຶບໄຟລ໌ເກົ່າອອກຈາກໂຟນເດີນີ້ໄດ້ແນວໃດ?",
    "lt": "Kaip galiu ištrinti senus failus iš šio aplanko?",
    "lv": "Kā es varu izdzēst vecos failus no šīs mapes?",
    "ms": "Bagaimanakah saya boleh memadam fail lama daripada folder ini kerana tidak perlu?",
    "nl": "Hoe kan ik de oude bestanden uit deze map verwijderen?",
    "no": "Hvordan kan jeg slette de gamle filene fra denne mappen nå, og hva gjør jeg etter det?",
    "pl": "Jak mogę usunąć stare pliki z tego folderu?",
    "pt": "Como posso apagar os arquivos antigos desta pasta? Não sei onde estão.",
    "ro": "Cum pot să șterg fișierele vechi din acest dosar?",
    "ru": "Как я могу удалить старые файлы из этой папки?",
    "sk": "Ako môžem vymazať staré súbory z tohto priečinka, keď ich nepotrebujem?",
    "sl": "Kako lahko izbrišem stare datoteke, ki so v tej mapi?",
    "sr": "Како могу да избришем старе датотеке из ове фасцикле?",
    "sv": "Hur kan jag ta bort de gamla filerna från den här mappen?",
    "sw": "Ninawezaje kufuta faili za zamani kutoka kwenye folda hii?",
    "ta": "இந்த கோப்புறையிலிருந்து பழைய கோப்புகளை எப்படி நீக்குவது?",
    "te": "ఈ ఫోల్డర్ నుండి పాత ఫైళ్లను ఎలా తొలగించాలి?",
    "th": "ฉันจะลบไฟล์เก่าออกจากโฟลเดอร์นี้ได้อย่างไร",
    "tr": "Bu klasördeki eski dosyaları nasıl silebilirim ve neden gerekli?",
    "uk": "Як я можу видалити старі файли з цієї папки?",
    "ur": "میں اس فولڈر سے پرانی فائلیں کیسے حذف کر سکتا ہوں؟",
    "vi": "Làm thế nào để tôi xóa các tệp cũ khỏi thư mục này?",
    "zh": "如何从这个文件夹中删除旧文件？",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_of_each_language_is_detected(code: str) -> None:
    assert detect_language(SENTENCES[code]) == code


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "42 17.5 3,14 | 12 | 9", "getUserProfile", "kubectl get pods -n kube-system", "GET /v2/users/{id}",
        "def main(argv: list[str]) -> int: return 0", "SELECT id, name FROM users WHERE id = 3", "créme_brulee_v2",
        "Save as New Layer", "Go to Previous Keyframe", "Link brush spacing", "min payment", "PDF export to PNG",
        "Retrieve Pokémon by name", "The café in Zürich", "sms77io: Outbound. Retrieves messages",
    ],
)  # fmt: skip
def test_short_technical_texts_are_english(text: str) -> None:
    assert detect_language(text) == "en"


def test_identifiers_do_not_change_the_language_of_a_text() -> None:
    assert detect_language("Mit get_user_profile wird das Profil eines Kunden über die HTTP-API gelesen.") == "de"
    assert detect_language("使用 get_user_profile 读取客户资料") == "zh"
    assert detect_language("Функция get_user_profile читает профиль") == "ru"
    assert detect_language("The word 'Привет' means hello, and 你好 does, too.") == "en"


def test_a_text_without_evidence_has_the_default() -> None:
    assert detect_language("getUserProfile", default="de") == "de"
    assert detect_language("How can I do this?", default="de") == "en"


def test_languages_have_names_and_directions() -> None:
    assert (name_language("de"), name_language("xx")) == ("German", "xx")
    assert [code for code in list_languages() if is_right_to_left(code)] == ["ar", "fa", "he", "ur"]
    assert len(list_languages()) >= 45


@pytest.mark.parametrize("code", SENTENCES)
def test_every_language_has_stop_words_and_request_words(code: str) -> None:
    assert len(get_stop_words(code)) >= 30
    assert len(get_request_words(code)) >= 10


def test_an_unknown_language_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(InputError, match=r"'xx'.* de, "):
        check_language("xx")
    assert check_language("de") == "de"


def test_documents_name_their_language_in_several_ways() -> None:
    assert [read_language(value) for value in ("de", "de-AT", "pt_BR", " FR ", "nb", "xx", "", None, 5)] == [
        "de", "de", "pt", "fr", "no", None, None, None, None,
    ]  # fmt: skip
