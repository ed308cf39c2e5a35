//! Words that carry no topic, by language.

/// Words that say nothing about the topic of an English question, and that are in most messages: looking them
/// up would cost more than all others together.
pub(super) const ENGLISH: &str = "a about all also am an and any are as at be been but by can could did do does done for \
    from get got had has have he her him his how i if in into is it its just like me my no not of on or our out say \
    said she should so some tell than that the their them then there these they this to too up us was we were what \
    when where which who why will with would you your";

/// The function words of the other languages by their codes (ISO 639-1): articles, pronouns, prepositions,
/// conjunctions, auxiliary verbs, and the words that ask. They are written as in the language, and compared
/// folded.
pub(super) const OTHERS: &[(&str, &str)] = &[
    (
        "ar",
        "من في على إلى عن مع هذا هذه ذلك تلك هؤلاء الذي التي الذين هو هي هم هن أنا نحن أنت أنتم كان كانت كانوا يكون \
         تكون ليس ليست لم لن لا ما ماذا لماذا متى أين كيف هل كم أي أية من كل بعض غير بين بعد قبل عند عندما حتى ثم أو و \
         أم إن أن إذا لأن لكن قد لقد كما منذ خلال حول ضد دون فقط أيضا به بها له لها فيه فيها عليه عليها منه منها إليه \
         إليها هناك هنا الى او ان",
    ),
    (
        "da",
        "og i at det er en et den til på de med for af som ikke der var jeg han hun du vi dem sig men har havde om kan \
         kunne skal skulle vil ville fra blev bliver blive min mit mine din dit dine hans hendes sin sit sine deres vores \
         jer os mig dig ham hende hvad hvem hvor hvornår hvorfor hvordan hvilken hvilket hvilke hvis når da så eller \
         efter ved under over ud op ned ind også været være noget nogen alle denne dette disse mange hver",
    ),
    (
        "de",
        "der die das den dem des ein eine einer eines einem einen und oder aber auch auf aus bei bis durch für gegen in \
         im an am um von vom vor mit nach zu zum zur über unter zwischen ich du er sie es wir ihr mich dich sich uns \
         euch mir dir ihm ihn ihnen mein meine meiner meinem meinen dein deine sein seine seiner seinem seinen ihre \
         ihrer ihrem ihren unser unsere ist sind war waren bin bist wird werden wurde wurden hat haben hatte hatten habe \
         hast kann können konnte muss müssen soll sollte will wollte nicht kein keine keinen als wie wenn weil dass ob \
         so dann doch noch nur schon sehr hier da dort was wer wen wem wessen wo woher wohin wann warum wieso weshalb \
         welche welcher welches welchen welchem wieviel viele dieser diese dieses diesem diesen jede jeder jedes \
         gibt gab denn man ja",
    ),
    (
        "el",
        "ο η το οι τα του της των τον την τους τις ένας μια ένα και ή αλλά σε στο στη στην στον στους στις στα από με για \
         προς ως κατά μετά πριν χωρίς μεταξύ που πως ότι να θα δεν μην είναι ήταν είμαι είσαι είναι ήταν έχει έχω έχουν \
         είχε είχαν εγώ εσύ αυτός αυτή αυτό αυτοί αυτές αυτά εμείς εσείς μου σου μας σας τι ποιος ποια ποιο ποιοι ποιες \
         πού πότε πόσο πόσα πόσοι γιατί όταν αν όπως όπου εκεί εδώ πολύ πιο όλα όλοι κάθε",
    ),
    (
        "es",
        "el la los las un una unos unas y o u e pero si no de del a al en con por para sin sobre entre hasta desde según \
         durante que qué quien quién quienes quiénes cual cuál cuales cuáles cuando cuándo donde dónde como cómo cuanto \
         cuánto cuantos cuántos cuanta cuánta cuantas cuántas porque por qué yo tú él ella ello nosotros vosotros ellos \
         ellas usted ustedes me te se nos os le les lo mi mis tu tus su sus nuestro nuestra este esta esto estos estas \
         ese esa eso esos esas aquel aquella es son era eran fue fueron ser sido está están estaba estaban estar ha han \
         había habían he hemos hay haber tiene tienen tenía más muy también ya así todo toda todos todas",
    ),
    (
        "fi",
        "ja tai mutta että kun jos niin kuin on ovat oli olivat olla ollut olen olet olemme ei en et eivät se ne hän he \
         minä sinä me te tämä tuo nämä nuo joka jotka mikä mitä missä mistä mihin milloin miksi miten kuka ketä kenen \
         kuinka monta millainen minkä sen sitä siinä siitä hänen heidän minun sinun meidän teidän minut sinut myös vain \
         jo vielä sitten koska ennen jälkeen kanssa ilman mukaan välillä yli ali alla päällä paljon kaikki jokin joku ole",
    ),
    (
        "fr",
        "le la les l un une des du de d et ou mais donc or ni car que qu qui quoi dont où quand comment pourquoi combien \
         quel quelle quels quelles lequel laquelle lesquels à au aux en dans par pour sur sous avec sans entre vers chez \
         je j tu il elle on nous vous ils elles me m te t se s lui leur leurs y mon ma mes ton ta tes son sa ses notre \
         nos votre vos ce c cet cette ces cela ça est sont était étaient être été suis es sommes êtes fut furent a ai as \
         ont avons avez avait avaient avoir eu ne n pas plus très aussi si comme même tout tous toute toutes y fait",
    ),
    (
        "hu",
        "a az egy és vagy de hogy nem is meg már még csak ha mint mert ami aki amely amelyek akik ahol amikor mi ki hol \
         mikor miért hogyan hány mennyi melyik milyen ez ezt ezek azt azok ő ők én te mi ti engem téged őt minket van \
         vannak volt voltak lesz lett lenne legyen kell lehet nincs sem el fel be ki le át majd itt ott igen minden \
         mely után előtt között alatt szerint által való nagyon több",
    ),
    (
        "it",
        "il lo la i gli le l un uno una e ed o ma se non di del dello della dei degli delle d a ad al allo alla ai agli \
         alle da dal dallo dalla dai dagli dalle in nel nello nella nei negli nelle con su sul sullo sulla sui sugli \
         sulle per tra fra che chi cosa quale quali quando dove come perché quanto quanti quanta quante io tu lui lei noi \
         voi loro mi ti si ci vi ne mio mia miei mie tuo tua suo sua suoi sue nostro nostra questo questa questi queste \
         quello quella quelli quelle è sono era erano essere stato stata stati fu furono ho hai ha abbiamo avete hanno \
         aveva avevano avere c più anche molto già così tutto tutti tutte",
    ),
    (
        "nl",
        "de het een en of maar want dat die dit deze er ik jij je u hij zij ze wij we jullie hen hun hem haar mij me jou \
         mijn jouw zijn ons onze is was waren ben bent wordt worden werd werden heb hebt heeft hebben had hadden kan \
         kunnen kon moet moeten zal zullen zou wil niet geen wel ook nog al in op aan van voor met door naar uit bij om \
         over onder tussen tegen tot na zonder als dan toen dus zo wat wie waar wanneer waarom hoe welke welk hoeveel \
         waarvoor waarin te ten ter heel veel meer",
    ),
    (
        "no",
        "og i å at det er en et den til på de med for av som ikke der var jeg han hun du vi dere dem seg men har hadde om \
         kan kunne skal skulle vil ville fra ble blir bli min mitt mine din ditt dine hans hennes sin sitt sine deres vår \
         vårt våre oss meg deg ham henne hva hvem hvor når hvorfor hvordan hvilken hvilket hvilke hvis da så eller etter \
         ved under over ut opp ned inn også vært være noe noen alle denne dette disse mange hver",
    ),
    (
        "pt",
        "o a os as um uma uns umas e ou mas se não de do da dos das d a ao à aos às em no na nos nas num numa com por pelo \
         pela pelos pelas para sem sobre entre até desde que quê quem qual quais quando onde como quanto quanta quantos \
         quantas porque por quê eu tu você ele ela nós vós vocês eles elas me te lhe lhes meu minha meus minhas teu tua \
         seu sua seus suas nosso nossa este esta isto estes estas esse essa isso esses essas aquele aquela aquilo é são \
         era eram foi foram ser sido está estão estava estavam estar tem têm tinha tinham ter há mais muito também já \
         todo toda todos todas",
    ),
    (
        "ro",
        "și sau dar iar că să nu de la în din pe cu pentru prin fără sub peste între până după spre un o unui unei niște \
         al a ai ale cel cea cei cele eu tu el ea noi voi ei ele mă te se ne vă îl îi le lui meu mea mei mele tău ta său \
         sa nostru noastră acest această acesta aceasta acești aceste acel acea ce cine care când unde cum cât câți câte \
         câtă cărui dacă este e sunt era erau fi fost am ai are avem aveți au avea fi va vor mai foarte și tot toate toți",
    ),
    (
        "ru",
        "и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по ее её мне было вот от меня еще \
         ещё нет о об из ему ли если или ни быть был него до вас уже вам ведь там потом себя ей они тут где есть ней для \
         мы тебя их чем была сам чтоб без чего тоже себе под кто кого кому этот эта это эти этого этой этом том тот та \
         те тем при который которая которое которые которой которых когда почему зачем откуда куда сколько какой какая \
         какое какие какого каком чей были будет мой моя моё мои твой наш ваш между после перед через над",
    ),
    (
        "sv",
        "och i att det är en ett den till på de med för av som inte var jag han hon du vi ni dem sig men har hade om kan \
         kunde ska skall skulle vill ville från blev blir bli min mitt mina din ditt dina hans hennes sin sitt sina deras \
         vår vårt våra er oss mig dig honom henne vad vem vilka vilken vilket var när varför hur så eller efter vid \
         under över ut upp ner in också varit vara något någon alla denna detta dessa många varje finns hos där här",
    ),
    (
        "ta",
        "ஒரு என்று மற்றும் இந்த இது என்ற கொண்டு என்பது பல ஆகும் அல்லது அவர் நான் உள்ள அந்த இவர் என முதல் என்ன இருந்து சில என் \
         போன்ற வேண்டும் வந்து இதன் அது அவன் தான் பலரும் என்னும் மேலும் பின்னர் கொண்ட இருக்கும் தனது உள்ளது போது என்றும் அதன் \
         தன் பிறகு அவர்கள் வரை அவள் நீ ஆகிய இருந்தது உள்ளன வந்த இருந்த மிகவும் இங்கு மீது ஓர் இவை இந்தக் பற்றி வரும் வேறு இரு \
         இதில் போல் இப்போது அவரது மட்டும் எப்படி எங்கே எப்போது ஏன் யார் எந்த எத்தனை",
    ),
    (
        "tr",
        "ve veya ile ama fakat için bir bu şu o da de ki mi mı mu mü ne kim nerede nereye nereden neden niçin nasıl kaç \
         hangi ben sen biz siz onlar bana sana ona bize size onlara beni seni onu bizi sizi onları benim senin onun bizim \
         sizin onların bunu şunu buna çok daha en gibi kadar sonra önce göre her hiç tüm bütün değil var yok olan olarak \
         oldu olur olduğu ise idi eğer çünkü ya hem diye mıdır midir nedir kimdir",
    ),
];
