//! Words that anybody writes: they name nobody, so one of them alone is masked only where it stands as a name.

use std::collections::HashSet;
use std::sync::LazyLock;

static WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| [SHORT, ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, OUR_OWN].into_iter().flat_map(str::split_whitespace).collect());

/// Whether a word is one of them, in any case.
pub(super) fn is_common(word: &str) -> bool {
    WORDS.contains(word.to_lowercase().as_str())
}

/// Words of two letters, in all the languages.
const SHORT: &str = "ab ai al am an as at au be by ce ci da de di do du ed ei el em en er es et eu fu go ha he hi ho id if il im in is it \
ja je jo la le li lo ma me mi my na ne ni no nu ob of oh ok on or os ou pm qu sa se si so su ta te ti to tu um un up us va vi vs we wo yo zu";

const ENGLISH: &str = "about above absent accept access account across act action active actual add address admin after again against agent ago agree all allow \
almost alone along already also although always amount and annual another answer any anyone anything apologies appear apply appointment approve april are area around \
arrive art ask asked assistant august available average away back bad balance bank base because become been before began begin behind being believe below best better \
between big bill billing bit blue board body book both bottom box break bring broken brown budget build building business busy but buy call called caller came can cancel \
cannot car care case cash cause change charge chat check child choose city claim class clear client close closed code cold come comment common company complaint complete \
concern condition confirm connect connected connection contact contract control copy correct cost could country course cover create credit current customer cut daily \
damage dark data date day days dead deal dear december decide deep delay deliver delivery department detail details did differ different difficult direct discount does \
done door down draft drive drop dropped due during duty each early easy eight either else email empty end ended enough error even evening event ever every everyone \
everything example exchange expect expired explain extra eye face fact fail failed failure fair fall false family far fast february feedback feel few field file fill \
final find fine finish first five fix flat follow food for form found four frank free friday friend from front full function further future gave general get give given \
glad goes going gone good goodbye got grace grant great green group grow guest half hand happen happy hard has have having head health hear heard heavy held hello help \
her here hers high him himself his hold holiday home hope hospital hot hour hours house how however hundred idea important inch include inform information inside instead \
interest into invoice issue item its itself january job join july june just keep key kind king knew know known large last late later law lead learn least leave left less \
let letter level license life light like limit line link list little live local locked login long look lose lost lot love low made mail main make man manager many march \
mark market matter may maybe mean medical meet meeting member message middle might mind minute miss missing mobile monday money month monthly more morning most move much \
must name near need needs network never new news next nice night nine nobody none noon nor normal not note nothing notice november now number october off offer office \
often old once one only open option order other our ours out outside over own owner package page paid park part party pass past patient pay payment people per perhaps \
person phone picture piece place plan please point policy poor possible post power present press previous price print private problem process product project promise \
public purchase put quarter question quick quickly quiet quite rather reach read ready real reason receive received recent record red refund regards regular remain \
remember remind reminder reply report request reset rest result return review rich right ring rise road room rose round rule run sad safe said sale sales same sample \
saturday save saw say schedule school search season second section see seem seen send sent september serve service set seven several shall she ship shipping shop short \
should show sick side sign simple since single sir site six sleep slow small social some someone something soon sorry sort sound south speak special staff stage stand \
star start started state status stay still stock stop store story street strong student subject such summary summer sunday support sure system table take taken talk task \
team tell ten term test text than thank thanks that the their them themselves then there therefore these they thing things think third this those though thousand three \
through thursday ticket till time times tired title today together tomorrow tonight too took top total toward town trade train travel treatment trouble true trust try \
tuesday turn two type under unit until upon urgent use used user usual value very via visit voice wait walk wall want warm warning was watch water way weather web \
wednesday week weekend weekly welcome well went were west what when where whether which while white who whole whom whose why wide will win window winter wish with within \
without woman word work worker working world worry would write written wrong yeah year years yellow yes yesterday yet you young your yours yourself zero zone";

const GERMAN: &str = "abend aber ablehnung abteilung acht adresse alle allein allem allen aller alles als also alt alte am ander andere anderen anfang anfrage \
angebot anliegen anruf anschrift antrag antwort arbeit arbeitszeit arzt auch auf aufgabe auftrag aus ausfall auskunft außerdem bald bank bei beide beim beispiel bereits \
bericht beschwerde besser bestellung besuch betrag bin bis bitte bleibt brauche brief büro danach dank danke dann daran darauf daraus darf darum das dass daten datum dein \
deine dem den denn der deren des deshalb dessen dich die dienst dienstag dies diese diesem diesen dieser dieses dir doch donnerstag dort drei dringend durch dürfen ein \
eine einem einen einer eines einfach eingang einige einmal ende endlich entschuldigung erhalten erst erste es etwas euch euer fall falls falsch familie fehler feld \
fertig firma frage fragen frau frei freitag freundliche freundlichen früh führt fünf für ganz gar geben gegen geht geld genau gern gerne geschäft gesendet gestern \
gesundheit gibt gleich grund grüße gruß gut gute guten haben hallo halt hat hatte haus herr heute hier hilfe hin hinter hoch ich ihm ihn ihnen ihr ihre ihrem ihren ihrer \
immer information ins ist jahr jede jedem jeden jeder jedes jedoch jetzt juli juni kann kannst karte kaum kein keine keinem keinen keiner kind kinder klar klein kommt \
können könnte konnte konto kosten krank kunde kunden kundin kurz lange leider letzte letzten lieber lieb liebe lieferung liegt liste machen macht mai mal man manche mann \
mehr mein meine meinem meinen meiner meldung mich minute mir mit mittag mitte mittwoch möchte möglich monat montag morgen muss müssen musste nach nachricht nacht nah name \
natürlich neben nein neu neue neuen neun nicht nichts nie niemand noch nötig notiz november nummer nun nur oben ob oder offen ohne oktober ort paket patient person plan \
platz preis problem projekt rechnung recht regel reise rückruf rund sache sagen samstag sehr sein seine seinem seinen seiner seit seite selbst sich sicher sie sieben sind \
sofort soll sollen sollte sommer sondern sonntag sonst später stadt stelle straße straßen stunde stunden tag tage tagen team teil telefon termin test teuer text tun über \
überweisung uhr und uns unser unsere unter vergangen verbindung vertrag viel viele vielen vielleicht vier von vom vor vorgang wann war waren warten warum was wegen weil \
weiter welche welcher wenig wenn wer werden wert wichtig wie wieder will wir wird winter wirklich wissen wo woche wochen wohl wohnung wollen wollte worden wunsch wurde \
wurden zahl zahlung zehn zeit zettel ziel zimmer zum zur zurück zusammen zwei zweite zwischen";

const FRENCH: &str = "adresse afin ailleurs ainsi alors année ans appel après argent attente aucun aucune aujourd aussi autre autres aux avant avec avez avoir avons avril \
bien bon bonjour bonne cas car ceci cela celle celui ces cet cette chaque chez choix client cliente combien comme comment compte contre cordialement coût dans date \
demande demain depuis dernier derrière des deux dimanche dire dit dix dois doit donc donner dont double droit durée elle elles encore enfin entre erreur est été être eux \
exemple faire fait famille faut femme fera fin fois font heure heures hier homme ici ils information jamais janvier jeudi jour jours juillet juin jusqu leur leurs ligne \
liste livraison loin lui lundi madame mai maintenant mais maison mal mardi mars matin médecin meilleur même merci mercredi mes message mettre mieux mois moins mon monde \
monsieur montant naissance non nom nos notre nous nouveau nouvelle nuit numéro octobre ont ordre oui par parce parler part pas patient pays pendant personne petit peu \
peut peux place plus plusieurs pour pourquoi premier première prendre près prix problème projet quand que quel quelle quelque question qui quoi rappel rapport recevoir \
rendez réponse reste retard rien rue salut samedi sans santé sera service ses seul si soir sommes son sont sous suis sujet sur tard téléphone temps tes toi ton toujours \
tous tout toute toutes travail très trois trop une urgent vendredi vers veut veux vie ville visite voici voilà voir vos votre vous vrai";

const SPANISH: &str = "abril ahora algo alguien algún alguno allí anterior antes año años aquí asunto así aún ayer ayuda bien buen buena buenas bueno buenos cada calle \
cambio casa casi caso cerca cita ciudad cliente como cómo con contra correo cosa costo cual cuál cuando cuándo cuanto cuenta datos debe decir dejar del demás dentro desde \
después detrás dice diez dinero dirección donde dónde dos durante ejemplo ella ellas ellos empresa enero entonces entre envío era error esa ese eso esta está estado \
están estar este esto estoy favor fecha fin forma fue fuera gente gracias gran grande hace hacer hacia hasta hay hola hombre hora horas hoy información jueves julio junio \
lado las les línea lista llamada llamar lugar lunes luego mañana martes marzo más mayo médico mejor menos mensaje mes meses miércoles mientras mis mismo modo momento mucho \
muchos mujer muy nada nadie ninguno noche nombre nos nosotros nota nuestra nuestro nueva nuevo número nunca otra otro paciente pago país para parte pasado pedido pero \
persona poco por porque posible precio pregunta primera primero problema propio próximo proyecto pronto puede puedo pues que qué quien quién quiere quiero respuesta \
sábado salud saludos sea segundo según seis semana señor señora ser será servicio sí sido siempre siete sin sobre sólo solo somos son soy sus también tan tanto tarde \
teléfono tener tengo tercero tiempo tiene tipo toda todas todo todos trabajo tras tres una unas uno unos usted ustedes veces ver verdad vez vida viernes visita ya";

const ITALIAN: &str = "abbiamo agosto aiuto alcuni alla alle allora altra altre altri altro anche ancora anno anni appuntamento aprile arrivederci assistenza avanti avere \
bene buona buongiorno buono caro casa caso che chi chiamata ciao cinque città cliente codice come con conto contro cordiali cosa così costo cui dal dalla data dati degli \
dei del della delle dentro deve dice dieci dietro dire domanda domani domenica donna dopo dove due durante ecco entro era errore esempio essere fare fatto febbraio fine \
fino fra fuori gennaio gente già giorni giorno giovedì giugno gli grande grazie hai hanno ieri indirizzo informazioni insieme invece io lavoro lei lettera linea lista loro \
lui luglio lunedì lungo maggio mai male mano martedì marzo medico meglio meno mentre mercoledì mese messaggio mezzo mia mie mila mio moglie molto momento nel nella nessuno \
niente noi nome non nostra nostro notte nove nulla numero nuovo ogni oggi oltre ora ordine ore otto ottobre paese pagamento parte paziente per perché perciò persona però \
piccolo più poco poi posta posto prezzo prego prima primo problema progetto pronto proprio può qualche qualcosa quale quando quanto quattro quella quello questa questi \
questo qui quindi richiesta risposta sabato salute saluti scusa secondo sei sempre senza sera servizio sette settimana sia siamo siete signor signora solo sono sopra sotto \
stata stato strada stesso sua subito sue suo suoi sul sulla tanto tardi telefono tempo tra tre troppo tua tuo tutta tutte tutti tutto ultimo una uno uomo urgente venerdì \
verso via vita voi volta vorrei vostro";

/// What steps, failures and the record are called here.
const OUR_OWN: &str = "approval approved attempt blocked cancelled channel compose created criteria criterion delivered denied description duration engine events evidence \
expected export finished flow formatted gate input inputs internal interrupted invoked journal judge judged limit model models output outputs partial passed paused pipeline \
policy prompt provider query quality refine refined refinement refining refused rejected retry reviewer route running schema scorecard scripted skipped step steps style \
succeeded summarize terminated timeout tokens tool tools unavailable unknown verdict verdicts writer";
